package check

import (
	"github.com/blang/semver/v4"

	"github.com/operon-framework/operon/internal/olm/property"
	"github.com/operon-framework/operon/internal/olm/resolve"
	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// facts are what upgrade graphs and dependencies need to know about a bundle.
type facts struct {
	entry resolve.Entry
	// content is nil if the bundle has properties that cannot be encoded.
	content *property.Content
	version string
	claims  []claim
	at      rule.Place
}

// factsOf returns the facts about a bundle with a CSV. Dependencies that cannot be read are findings.
func factsOf(b *bundle.Bundle, all *findings) facts {
	made := facts{
		entry: resolve.Entry{
			Name: b.CSV.Name, Replaces: b.CSV.Spec.Replaces, Skips: b.CSV.Spec.Skips, SkipRange: b.CSV.Annotations["olm.skipRange"],
		},
		version: b.CSV.Spec.Version, claims: claimsOf(b), at: rule.At(*b.Object, "metadata.name"),
	}
	encoded, err := catalog.PropertiesOf(b)
	if err != nil {
		all.add(csvFields, made.at, "the properties of the bundle: %v", err)
		return made
	}
	described := property.Bundle{Name: b.CSV.Name}
	for _, one := range encoded {
		described.Properties = append(described.Properties, property.Property(one))
	}
	content, err := property.Read(b.Package, described, &property.Rules{})
	if _, invalid := semver.Parse(made.version); err != nil && invalid == nil && b.Package != "" { // otherwise the lint has a finding
		all.add(csvFields, made.at, "the resolver rejects the bundle: %v", err)
	}
	made.content = content
	return made
}
