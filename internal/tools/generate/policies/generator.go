package policies

import (
	"errors"
	"fmt"
	"go/ast"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/operon-framework/operon/internal/tools/generate/crds"
)

// Generator writes policies.yaml: each policy with its binding. It is a genall.Generator.
//
// Guarantees: the policies compile in the environment that API servers provide to expressions, against the schema of the
// type. The same markers result in the same bytes. Without markers nothing is written. Caveats: the fields of kinds that are
// not in the project are unknown, so that an expression about them is checked without their types.
type Generator struct {
	// Gates are the feature gates whose fields expressions may use, and whose policies are written.
	Gates []string
	// AllowFloats allows float32 and float64 in types.
	AllowFloats bool
}

// RegisterMarkers implements genall.Generator.
func (Generator) RegisterMarkers(into *markers.Registry) error {
	var problems []error
	for _, definition := range vocabulary {
		problems = append(problems, into.Register(definition))
	}
	return errors.Join(append(problems, crds.Generator{}.RegisterMarkers(into))...)
}

// CheckFilter implements genall.NeedsTypeChecking: schemas need types.
func (Generator) CheckFilter() loader.NodeFilter { return crd.Generator{}.CheckFilter() }

// Generate implements genall.Generator.
func (g Generator) Generate(ctx *genall.GenerationContext) error {
	defer crds.Hide(ctx, g.Gates)()
	all, err := g.find(ctx)
	problems := []error{err}
	var objects []any
	for _, one := range all {
		made, err := one.objects()
		objects, problems = append(objects, made...), append(problems, err)
	}
	if err := errors.Join(problems...); err != nil || len(objects) == 0 {
		return tell(err)
	}
	return ctx.WriteYAML("policies.yaml", "", objects, genall.WithTransform(tidy))
}

// tidy removes fields that a Go struct writes even if they are not set.
func tidy(object map[string]any) error {
	delete(object, "status")
	return genall.TransformRemoveCreationTimestamp(object)
}

// rules are the markers with one name at one place.
type rules struct {
	markers []placed
	kind    *apiextensionsv1.CustomResourceDefinition // nil for kinds of other projects
	version string
}

// placed is a marker and its place.
type placed struct {
	Marker
	pkg  *loader.Package
	file *ast.File
}

// find finds the policies of a project, in the order of its packages and types.
func (g Generator) find(ctx *genall.GenerationContext) ([]*rules, error) {
	var all []*rules
	var problems []error
	parser := &crd.Parser{Collector: ctx.Collector, Checker: ctx.Checker, AllowDangerousTypes: g.AllowFloats}
	crd.AddKnownTypes(parser)
	for _, root := range ctx.Roots {
		inPackage, err := ofPackage(ctx, root, g.Gates)
		problems = append(problems, err)
		all = append(all, inPackage...)
		err = markers.EachType(ctx.Collector, root, func(info *markers.TypeInfo) {
			said := open(info.Markers[markerName], g.Gates, root, info.RawFile)
			if len(said) == 0 {
				return
			}
			definition, version, err := definitionOf(parser, root, info)
			if err != nil {
				problems = append(problems, said[0].wrong(err))
				return
			}
			named, err := byName(said, true)
			problems = append(problems, err)
			for _, one := range named {
				one.kind, one.version = definition, version
			}
			all = append(all, named...)
		})
		if err != nil {
			root.AddError(err)
		}
	}
	return all, errors.Join(append(problems, unique(all))...)
}

// unique returns an error for each policy that has the name of another one, as on a second version of a kind.
func unique(all []*rules) error {
	var problems []error
	found := map[string]bool{}
	for _, one := range all {
		if found[one.name()] {
			problems = append(problems, one.markers[0].wrong(fmt.Errorf("another type or package has a policy %s: choose another name, or remove it from one version of a kind, because it applies to all versions", one.name())))
		}
		found[one.name()] = true
	}
	return errors.Join(problems...)
}

// ofPackage returns the policies of markers that are not on a type.
func ofPackage(ctx *genall.GenerationContext, root *loader.Package, gates []string) ([]*rules, error) {
	nodes, err := ctx.Collector.MarkersInPackage(root)
	if err != nil {
		return nil, nil // reported with the types of the package
	}
	var said []placed
	for _, file := range root.Syntax {
		said = append(said, open(nodes[file][markerName], gates, root, file)...)
	}
	return byName(said, false)
}

// open returns the markers at one place that have no feature gate or an enabled one.
func open(all []any, gates []string, pkg *loader.Package, file *ast.File) []placed {
	var said []placed
	for _, value := range all {
		marker := value.(Marker)
		if marker.FeatureGate == "" || slices.Contains(gates, marker.FeatureGate) {
			said = append(said, placed{marker, pkg, file})
		}
	}
	return said
}

// byName groups the markers at one place into policies.
func byName(said []placed, onType bool) ([]*rules, error) {
	var all []*rules
	var problems []error
	found := map[string]*rules{}
	for _, one := range said {
		if err := one.check(onType); err != nil {
			problems = append(problems, one.wrong(err))
			continue
		}
		if found[one.Name] == nil {
			found[one.Name] = &rules{}
			all = append(all, found[one.Name])
		}
		found[one.Name].markers = append(found[one.Name].markers, one)
	}
	return all, errors.Join(problems...)
}

// definitionOf returns the definition generated from a type, and its version.
func definitionOf(parser *crd.Parser, root *loader.Package, info *markers.TypeInfo) (*apiextensionsv1.CustomResourceDefinition, string, error) {
	if !isKind(info) {
		return nil, "", fmt.Errorf("%s is not a kind: a policy marker belongs to a type with metav1.TypeMeta and metav1.ObjectMeta", info.Name)
	}
	parser.NeedPackage(root)
	version := parser.GroupVersions[root]
	kind := schema.GroupKind{Group: version.Group, Kind: info.Name}
	parser.NeedCRDFor(kind, nil)
	definition, ok := parser.CustomResourceDefinitions[kind]
	if !ok || version.Group == "" {
		return nil, "", fmt.Errorf("%s is not a kind of an API group: a package of kinds has the marker +groupName=", info.Name)
	}
	return &definition, version.Version, nil
}

// isKind reports whether a type embeds the metadata of Kubernetes objects.
func isKind(info *markers.TypeInfo) bool {
	return slices.ContainsFunc(info.Fields, func(field markers.FieldInfo) bool {
		return crds.IsMetadata(field.RawField)
	})
}
