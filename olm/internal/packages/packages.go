// Package packages composes PackageManifests from the packages of a catalog. It is pure: it has no client and no clock. [Compose] describes a
// package once, when its catalog is read: its channels with their versions, what the newest version of each channel shows to people, and
// deprecations. [Manifest.In] adds the catalog's name and the namespace that sees it, for each request, and shares everything else.
package packages

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/blang/semver/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/ship/catalog"

	v1 "github.com/operon-framework/operon/internal/olm/api/packages/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// Labels of PackageManifests.
const (
	LabelCatalog          = "catalog"
	LabelCatalogNamespace = "catalog-namespace"
	// LabelInstalled is on PackageManifests of packages of which a version works in the namespace.
	LabelInstalled   = "operon.dev/installed"
	labelProvider    = "provider"
	labelProviderURL = "provider-url"
	prefixArch       = "operatorframework.io/arch."
	prefixOS         = "operatorframework.io/os."
	supported        = "supported"
)

// Manifest is what PackageManifests of a package have in common, whatever the catalog is called. It must not be changed.
type Manifest struct {
	// Status has no fields of the catalog.
	Status v1.PackageManifestStatus
	// Labels are those that follow from the head of the default channel.
	Labels map[string]string

	digest string
}

// Compose describes a package without problems. The heads of its channels are described as far as the catalog does it.
func Compose(p *catalog.Package) (*Manifest, error) {
	warnings := map[catalog.Reference]*v1.Deprecation{}
	for _, one := range p.Deprecations {
		reference := one.Reference
		if reference.Schema == "olm.package" {
			reference.Name = ""
		}
		warnings[reference] = &v1.Deprecation{Message: one.Message}
	}
	made := &Manifest{Labels: map[string]string{}, Status: v1.PackageManifestStatus{
		PackageName: p.Name, DefaultChannel: p.DefaultChannel, Deprecation: warnings[catalog.Reference{Schema: "olm.package"}],
	}}
	heads, bundles, icon := map[string]*head{}, map[string]*catalog.Bundle{}, encoded(p.Icon) // the icon is the largest part: heads share it
	for _, one := range p.Bundles {
		bundles[one.Name] = one
	}
	for _, channel := range p.Channels {
		name := channel.Heads()[0] // a package without problems has one
		if heads[name] == nil {
			read, err := headOf(p, bundles[name], icon)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			heads[name] = read
		}
		if channel.Name == p.DefaultChannel {
			made.Status.Provider, made.Labels = heads[name].Provider, labelsOf(heads[name])
		}
		made.Status.Channels = append(made.Status.Channels, v1.PackageChannel{
			Name: channel.Name, CurrentCSV: name, CurrentCSVDesc: heads[name].CSVDescription,
			Deprecation: warnings[catalog.Reference{Schema: "olm.channel", Name: channel.Name}], Entries: entries(channel, bundles, warnings),
		})
	}
	slices.SortFunc(made.Status.Channels, func(a, b v1.PackageChannel) int { return strings.Compare(a.Name, b.Name) })
	content, err := json.Marshal(made)
	made.digest = strconv.FormatUint(sum(content), 16)
	return made, err
}

// entries returns the versions of a channel, the newest first.
func entries(of *catalog.Channel, bundles map[string]*catalog.Bundle, warnings map[catalog.Reference]*v1.Deprecation) []v1.ChannelEntry {
	var all []v1.ChannelEntry
	for _, entry := range of.Entries {
		one := v1.ChannelEntry{Name: entry.Name, Deprecation: warnings[catalog.Reference{Schema: "olm.bundle", Name: entry.Name}]}
		if bundle := bundles[entry.Name]; bundle != nil {
			one.Version = bundle.Version()
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b v1.ChannelEntry) int { return newerFirst(a.Version, b.Version) })
	return all
}

func newerFirst(a, b string) int {
	left, leftErr := semver.Parse(a)
	right, rightErr := semver.Parse(b)
	if leftErr != nil || rightErr != nil {
		return strings.Compare(b, a)
	}
	return right.Compare(left)
}

// labelsOf returns the labels that follow from a version. A version that names no platform is for linux on amd64.
func labelsOf(of *head) map[string]string {
	labels := maps.Clone(of.labels)
	if labels == nil {
		labels = map[string]string{}
	}
	for prefix, usual := range map[string]string{prefixArch: "amd64", prefixOS: "linux"} {
		named := func(key string) bool { return strings.HasPrefix(key, prefix) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(of.labels)), named) {
			labels[prefix+usual] = supported
		}
	}
	labels[labelProvider], labels[labelProviderURL] = of.Provider.Name, of.Provider.URL
	return labels
}

// In returns the package as a namespace sees it in a catalog, with its versions that work there. All PackageManifests of a package share what
// the catalog has.
func (m *Manifest) In(source *v1alpha1.CatalogSource, namespace string, installed []v1.InstalledVersion) *v1.PackageManifest {
	made := &v1.PackageManifest{Status: m.Status, ObjectMeta: metav1.ObjectMeta{
		Namespace: cmp.Or(namespace, source.Namespace), Name: m.Status.PackageName, CreationTimestamp: source.CreationTimestamp,
		UID: types.UID(string(source.UID) + "." + m.Status.PackageName), Labels: maps.Clone(source.Labels),
	}}
	if made.Labels == nil {
		made.Labels = map[string]string{}
	}
	maps.Copy(made.Labels, m.Labels)
	made.Labels[LabelCatalog], made.Labels[LabelCatalogNamespace] = source.Name, source.Namespace
	made.Status.CatalogSource, made.Status.CatalogSourceNamespace = source.Name, source.Namespace
	made.Status.CatalogSourceDisplayName, made.Status.CatalogSourcePublisher = source.Spec.DisplayName, source.Spec.Publisher
	made.ResourceVersion = m.version(source, installed)
	if len(installed) > 0 {
		made.Status.Installed, made.Labels[LabelInstalled] = installed, "true"
	}
	return made
}

// version returns a number that changes with the content.
func (m *Manifest) version(source *v1alpha1.CatalogSource, installed []v1.InstalledVersion) string {
	shown := []any{m.digest, source.UID, source.Labels, source.Spec.DisplayName, source.Spec.Publisher, installed}
	content, err := json.Marshal(shown)
	if err != nil {
		panic(err) // strings can be encoded
	}
	return strconv.FormatUint(sum(content)>>1, 10) // clients may read it as a signed number
}

func sum(content []byte) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write(content) // never fails
	return hash.Sum64()
}

// encoded returns an image as ClusterServiceVersions have it, or none.
func encoded(icon *catalog.Icon) []v1.Icon {
	if icon == nil {
		return nil
	}
	return []v1.Icon{{Data: base64.StdEncoding.EncodeToString(icon.Data), MediaType: icon.MediaType}}
}
