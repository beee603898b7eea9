package check

import (
	"slices"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Rules about mistakes in bundles.
var (
	unreadable = &rule.Rule{
		Name: "bundle-unreadable", Severity: rule.Error,
		About:  "A directory that cannot be read as a bundle or a package.",
		Reason: "The bundle cannot be installed.",
		Fix:    "fix what the message names",
	}
	csvFields = &rule.Rule{
		Name: "csv-fields", Severity: rule.Error,
		About:  "A field of the CSV that the lifecycle manager cannot decode.",
		Reason: "API servers reject the CSV.",
		Fix:    "use the type that the message names",
	}
	packageGraph = &rule.Rule{
		Name: "package-graph", Severity: rule.Error,
		About:  "A channel without exactly one head, or with a version from which no upgrade leads to the head.",
		Reason: "The package cannot be installed from this channel, or installed operators stop at a version.",
		Fix:    "let the entries of the channel replace or skip each other in one line, from the oldest to the head",
	}
	refused = &rule.Rule{
		Name: "manager-refuses", Severity: rule.Error,
		About:  "Something in a bundle that the lifecycle manager refuses, and that no rule of the lint is about.",
		Reason: "The operator is not installed.",
		Fix:    "fix what the message names",
	}
	packageShared = &rule.Rule{
		Name: "package-shared", Severity: rule.Warning,
		About:  "Two packages that provide the same CRD or API service.",
		Reason: "The lifecycle manager installs only one of them in a cluster.",
		Fix:    "install only one, or let one of them require the API instead of providing it",
	}
)

// defect is the reason of rules about Operon itself.
const (
	defect = "This is a defect of Operon, not a mistake in the bundle."
	report = "report it together with the bundle"
)

// Rules about defects of Operon.
var (
	crashed = &rule.Rule{
		Name: "operon-crash", Severity: rule.Error, Reason: defect, Fix: report,
		About: "A bundle at which a check crashed or did not end.",
	}
	roundTrip = &rule.Rule{
		Name: "operon-round-trip", Severity: rule.Error, Reason: defect, Fix: report,
		About: "A field that is different after a CSV, a CRD or metadata/annotations.yaml was written and read again.",
	}
	rendering = &rule.Rule{
		Name: "operon-render", Severity: rule.Error, Reason: defect, Fix: report,
		About: "An object that the lifecycle manager makes and that differs from what the CSV asks for.",
	}
	upgradePath = &rule.Rule{
		Name: "operon-upgrade-path", Severity: rule.Error, Reason: defect, Fix: report,
		About: "An upgrade that the lifecycle manager chooses and that does not follow from the channel.",
	}
)

var defects = []*rule.Rule{crashed, roundTrip, rendering, upgradePath}

// Rules returns the rules of the lint, and the additional ones of this package.
func Rules() []*rule.Rule {
	return slices.Concat(bundle.Rules(), []*rule.Rule{unreadable, csvFields, packageGraph, refused, packageShared}, defects)
}

// isDefect reports whether a finding is about Operon itself.
func isDefect(f *rule.Finding) bool {
	return slices.ContainsFunc(defects, func(r *rule.Rule) bool { return r.Name == f.Rule })
}

// findings collects findings of several rules.
type findings []rule.Finding

func (f *findings) add(r *rule.Rule, at rule.Place, format string, values ...any) {
	*f = append(*f, r.Collect(func(found *rule.Findings) { found.Add(at, format, values...) })...)
}
