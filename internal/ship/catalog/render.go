package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/operon-framework/operon/internal/core/yamlsafe"
	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Render returns the catalog of the bundles and packages below directories, and of more bundles. image is the name of the image of each bundle,
// in which {package}, {version} and {name} are replaced; if it is empty, the bundles are part of the catalog. Bundles that were read from images
// have these.
func Render(dirs []string, image string, more ...*bundle.Bundle) (*Catalog, error) {
	found := slices.Clone(more)
	var problems []error
	for _, dir := range dirs {
		all, err := bundle.Open(dir)
		problems = append(problems, err)
		found = append(found, all...)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return Of(found, image)
}

// Of returns the catalog of bundles, which have a CSV. image is that of Render.
func Of(found []*bundle.Bundle, image string) (*Catalog, error) {
	byPackage := map[string][]*bundle.Bundle{}
	for _, b := range found {
		byPackage[b.Package] = append(byPackage[b.Package], b)
	}
	var problems []error
	c := &Catalog{}
	for _, name := range slices.Sorted(maps.Keys(byPackage)) {
		p, err := renderPackage(name, byPackage[name], image)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		c.Packages = append(c.Packages, p)
	}
	return c, errors.Join(append(problems, c.sameImages())...)
}

// sameImages returns an error for bundles with the image of another one.
func (c *Catalog) sameImages() error {
	var problems []error
	known := map[string]*Bundle{}
	for _, p := range c.Packages {
		for _, b := range p.Bundles {
			if other := known[b.Image]; b.Image != "" && other != nil {
				problems = append(problems, fmt.Errorf("%s: bundle %s has the image %s, as %s in %s has: use {package}, {version} or {name} in the names of images", b.at, b.Name, b.Image, other.Name, other.at))
				continue
			}
			known[b.Image] = b
		}
	}
	return errors.Join(problems...)
}

// placeOf returns the place of the ClusterServiceVersion of a bundle.
func placeOf(b *bundle.Bundle) rule.Place { return rule.At(*b.Object, "metadata.name") }

func renderPackage(name string, all []*bundle.Bundle, image string) (*Package, error) {
	if name == "" {
		return nil, fmt.Errorf("%s is not in a package: it needs metadata/annotations.yaml", all[0].Dir)
	}
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return nil, fmt.Errorf("%s: the name of the package %q: %s", all[0].Dir, name, strings.Join(problems, "; "))
	}
	versions := map[string]semver.Version{}
	for _, b := range all {
		version, err := semver.Parse(b.CSV.Spec.Version)
		if err != nil {
			return nil, fmt.Errorf("%s: the version %q is not a semantic version", b.Dir, b.CSV.Spec.Version)
		}
		versions[b.CSV.Name] = version
	}
	slices.SortStableFunc(all, func(a, b *bundle.Bundle) int { return versions[a.CSV.Name].Compare(versions[b.CSV.Name]) })
	newest := all[len(all)-1]
	p := &Package{Name: name, defined: true, at: placeOf(newest), DefaultChannel: newest.DefaultChannel, Description: newest.CSV.Spec.Description}
	if p.DefaultChannel == "" && len(newest.Channels) > 0 {
		p.DefaultChannel = newest.Channels[0]
	}
	if err := p.showIcon(newest); err != nil {
		return nil, err
	}
	for _, b := range all {
		if err := p.add(b, image); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Package) showIcon(b *bundle.Bundle) error {
	if len(b.CSV.Spec.Icon) == 0 {
		return nil
	}
	icon := b.CSV.Spec.Icon[0]
	raw, err := json.Marshal(map[string]string{"base64data": icon.Data, "mediatype": icon.MediaType})
	if err != nil {
		return err
	}
	p.Icon = &Icon{}
	if err := json.Unmarshal(raw, p.Icon); err != nil {
		return fmt.Errorf("%s: spec.icon[0]: want an image in base64", b.Dir)
	}
	return nil
}

// add adds a bundle, and entries for it in its channels.
func (p *Package) add(b *bundle.Bundle, image string) error {
	rendered, err := renderBundle(b, image)
	if err != nil {
		return err
	}
	if other := p.Bundle(rendered.Name); other != nil {
		return fmt.Errorf("%s: the bundle %s is also in %s", rendered.at, rendered.Name, other.at)
	}
	p.Bundles = append(p.Bundles, rendered)
	entry := Entry{Name: b.CSV.Name, Replaces: b.CSV.Spec.Replaces, Skips: b.CSV.Spec.Skips, SkipRange: b.CSV.Annotations["olm.skipRange"]}
	for _, name := range b.Channels {
		channel := p.Channel(name)
		if channel == nil {
			channel = &Channel{Package: p.Name, Name: name, at: placeOf(b)}
			p.Channels = append(p.Channels, channel)
		}
		channel.Entries = append(channel.Entries, entry)
	}
	return nil
}

// renderBundle returns the catalog's object for a bundle.
func renderBundle(b *bundle.Bundle, image string) (*Bundle, error) {
	made := &Bundle{Package: b.Package, Name: b.CSV.Name, at: placeOf(b)}
	switch {
	case b.FromImage != "":
		made.Image = b.FromImage
	case image != "":
		made.Image = strings.NewReplacer("{package}", b.Package, "{version}", b.CSV.Spec.Version, "{name}", b.CSV.Name).Replace(image)
	}
	if made.Image != "" {
		made.RelatedImages = append(made.RelatedImages, Image{Image: made.Image})
	}
	for _, one := range b.CSV.Spec.RelatedImages {
		made.RelatedImages = append(made.RelatedImages, Image(one))
	}
	made.addImages(b.CSV)
	properties := propertiesOf(b)
	if made.Image == "" {
		if err := properties.objects(b); err != nil {
			return nil, err
		}
	} else {
		properties.add(csvProperty, shown(b.Object.Unstructured))
	}
	made.Properties = properties.all
	return made, properties.err
}

// addImages adds the images of the operator's pods that the CSV does not list, so that a mirror of the catalog has them.
func (b *Bundle) addImages(csv *bundle.CSV) {
	for _, deployment := range csv.Spec.Install.Spec.Deployments {
		pod := deployment.Spec.Template.Spec
		for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
			known := func(one Image) bool { return one.Image == container.Image }
			if container.Image != "" && !slices.ContainsFunc(b.RelatedImages, known) {
				b.RelatedImages = append(b.RelatedImages, Image{Image: container.Image})
			}
		}
	}
}

// PropertiesOf returns the properties that a catalog has for a bundle with a CSV: its version, what it provides, and what it needs.
func PropertiesOf(b *bundle.Bundle) ([]Property, error) {
	made := propertiesOf(b)
	return made.all, made.err
}

func propertiesOf(b *bundle.Bundle) *properties {
	properties := &properties{}
	properties.add(packageProperty, map[string]any{"packageName": b.Package, "version": b.CSV.Spec.Version})
	for _, crd := range b.CRDs {
		if crd.Typed == nil {
			continue
		}
		for _, version := range crd.Typed.Spec.Versions {
			properties.kind(kindProperty, schema.GroupVersionKind{Group: crd.Typed.Spec.Group, Version: version.Name, Kind: crd.Typed.Spec.Names.Kind})
		}
	}
	properties.apis(kindProperty, b.CSV.Spec.APIServices.Owned)
	properties.apis(requiredKindProperty, slices.Concat(b.CSV.Spec.CRDs.Required, b.CSV.Spec.APIServices.Required))
	for _, one := range b.Dependencies {
		properties.dependency(one)
	}
	for _, one := range b.Properties {
		properties.add(one.Type, one.Value)
	}
	return properties
}

type properties struct {
	all []Property
	err error
}

// add adds a property. A property that is there already is not repeated.
func (p *properties) add(kind string, value any) {
	raw, err := encode(value)
	p.err = errors.Join(p.err, err)
	if !slices.ContainsFunc(p.all, func(o Property) bool { return o.Type == kind && string(o.Value) == string(raw) }) {
		p.all = append(p.all, Property{kind, raw})
	}
}

func (p *properties) kind(property string, kind schema.GroupVersionKind) {
	p.add(property, map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind})
}

// apis adds APIs that a ClusterServiceVersion lists. The name of a CRD ends with its group.
func (p *properties) apis(property string, all []bundle.API) {
	for _, api := range all {
		group := api.Group
		if group == "" {
			_, group, _ = strings.Cut(api.Name, ".")
		}
		p.kind(property, schema.GroupVersionKind{Group: group, Version: api.Version, Kind: api.Kind})
	}
}

// dependency adds a dependency of a bundle in the form of catalogs.
func (p *properties) dependency(d bundle.Dependency) {
	switch d.Type {
	case "olm.package":
		p.add(requiredPackageProperty, map[string]any{"packageName": d.Value["packageName"], "versionRange": d.Value["version"]})
	case "olm.gvk":
		p.add(requiredKindProperty, d.Value)
	case labelProperty: // of the provider
		p.add(requiredLabelProperty, d.Value)
	default:
		p.add(d.Type, d.Value)
	}
}

// objects adds the manifests of a bundle.
func (p *properties) objects(b *bundle.Bundle) error {
	objects := []*unstructured.Unstructured{b.Object.Unstructured}
	for _, crd := range b.CRDs {
		objects = append(objects, crd.Unstructured)
	}
	for _, one := range b.Others {
		objects = append(objects, one.Unstructured)
	}
	for _, object := range objects {
		content, err := json.Marshal(object.Object)
		if err != nil {
			return err
		}
		p.add(objectProperty, map[string]any{"data": yamlsafe.JSON(content)})
	}
	return nil
}

// shown returns what catalogs show of a ClusterServiceVersion.
func shown(csv *unstructured.Unstructured) map[string]any {
	spec, _, _ := unstructured.NestedMap(csv.Object, "spec")
	made := map[string]any{}
	for to, from := range map[string]string{
		"apiServiceDefinitions": "apiservicedefinitions", "crdDescriptions": "customresourcedefinitions", "description": "description",
		"displayName": "displayName", "installModes": "installModes", "keywords": "keywords", "links": "links", "maintainers": "maintainers",
		"maturity": "maturity", "minKubeVersion": "minKubeVersion", "nativeAPIs": "nativeAPIs", "provider": "provider",
	} {
		if spec[from] != nil {
			made[to] = spec[from]
		}
	}
	if annotations := csv.GetAnnotations(); len(annotations) > 0 {
		made["annotations"] = annotations
	}
	if labels := csv.GetLabels(); len(labels) > 0 {
		made["labels"] = labels
	}
	return made
}
