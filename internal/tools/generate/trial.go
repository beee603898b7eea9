package generate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/operon-framework/operon/internal/tools/generate/crds"
)

// schemaMakers lists the generators that expand the types of kinds down to the last field.
var schemaMakers = []string{"crd", "policy", "schemapatch"}

// trial is the result of generating the schemas of a run.
type trial struct {
	// endless reports that a kind contains itself. A generator of its schema would never return.
	endless bool
	// wrong reports that a schema cannot be generated; the packages have the errors. A generator of deepcopy methods for such a
	// type may panic.
	wrong bool
}

// try generates the schemas of all kinds without expanding them. Errors are added to the packages.
func (r run) try(ctx *genall.GenerationContext) trial {
	if !slices.ContainsFunc(r.jobs, func(j job) bool { return slices.Contains(schemaMakers, j.name) }) {
		return trial{}
	}
	parser := &crd.Parser{Collector: ctx.Collector, Checker: ctx.Checker, AllowDangerousTypes: r.allows(floats), IgnoreUnexportedFields: r.allows(unexported)}
	crd.AddKnownTypes(parser)
	roots := concerning("crd", ctx.Roots)
	for _, root := range roots {
		parser.NeedPackage(root)
	}
	metadata := crd.FindMetav1(roots)
	if metadata == nil {
		return trial{}
	}
	w := &typeWalk{parser: parser, packages: map[string]*loader.Package{}, done: map[crd.TypeIdent]bool{}}
	for _, kind := range crd.FindKubeKinds(parser, metadata) {
		for _, root := range roots {
			of := crd.TypeIdent{Package: root, Name: kind.Kind}
			if parser.Types[of] != nil && parser.GroupVersions[root].Group == kind.Group {
				parser.NeedSchemaFor(of)
				w.kind(of)
			}
		}
	}
	wrong := slices.ContainsFunc(roots, func(root *loader.Package) bool {
		return slices.ContainsFunc(root.Errors, func(problem packages.Error) bool { return saysGenerator(root.Package, problem) })
	})
	return trial{endless: w.found, wrong: wrong}
}

// floats and unexported are the options of definitions that accept more types.
func floats(definitions crd.Generator) *bool     { return definitions.AllowDangerousTypes }
func unexported(definitions crd.Generator) *bool { return definitions.IgnoreUnexportedFields }

// allows reports whether the run's definitions have an option.
func (r run) allows(option func(crd.Generator) *bool) bool {
	return slices.ContainsFunc(r.jobs, func(j job) bool {
		switch generator := j.generator.(type) {
		case crd.Generator:
			return ptr.Deref(option(generator), false)
		case crds.Generator:
			return ptr.Deref(option(generator.Generator), false)
		}
		return false
	})
}

// forbids reports whether a generator must not be run.
func (t trial) forbids(generator string) bool {
	return t.endless && slices.Contains(schemaMakers, generator) || t.wrong && generator == "object"
}

// typeWalk follows the references between the types of a parser.
type typeWalk struct {
	parser   *crd.Parser
	packages map[string]*loader.Package
	done     map[crd.TypeIdent]bool
	way      []crd.TypeIdent
	found    bool
}

func (w *typeWalk) kind(of crd.TypeIdent) {
	for known := range w.parser.Schemata {
		if known.Package != nil {
			w.packages[loader.NonVendorPath(known.Package.PkgPath)] = known.Package
		}
	}
	w.enter(of, of.Name)
}

// enter follows the references of a type; at is the path of fields that led to it.
func (w *typeWalk) enter(of crd.TypeIdent, at string) {
	if w.done[of] {
		return
	}
	w.way = append(w.way, of)
	schema := w.parser.Schemata[of]
	w.schema(of, "", at, &schema)
	w.way = w.way[:len(w.way)-1]
	w.done[of] = true
}

// schema follows the references of a part of a type's schema. The argument field is the JSON name of the type's field, or ""
// for embedded fields.
func (w *typeWalk) schema(of crd.TypeIdent, field, at string, schema *apiextensionsv1.JSONSchemaProps) {
	if schema.Ref != nil {
		w.reference(of, field, at, *schema.Ref)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		inner := schema.Properties[name]
		w.schema(of, cmp.Or(field, name), at+"."+name, &inner)
	}
	for i := range schema.AllOf {
		w.schema(of, field, at, &schema.AllOf[i])
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		w.schema(of, field, at+"[]", schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		w.schema(of, field, at+"{}", schema.AdditionalProperties.Schema)
	}
}

func (w *typeWalk) reference(from crd.TypeIdent, field, at, link string) {
	name, path, err := crd.RefParts(link)
	if err != nil {
		return // impossible: the parser wrote it
	}
	to := crd.TypeIdent{Package: from.Package, Name: name}
	if path != "" {
		to.Package = w.packages[path]
	}
	if slices.Contains(w.way, to) {
		w.tell(from, field, at, to)
		return
	}
	w.enter(to, at)
}

// tell adds an error at the field that leads back.
func (w *typeWalk) tell(from crd.TypeIdent, field, at string, to crd.TypeIdent) {
	w.found = true
	remark := fmt.Errorf("%s is a %s within a %s, and so on without end, which no schema can express: refer to the other one by its name, or write +kubebuilder:validation:Schemaless and +kubebuilder:pruning:PreserveUnknownFields above the field, so that it is stored unchecked", at, to.Name, to.Name)
	info := w.parser.Types[from]
	if info == nil {
		from.Package.AddError(remark)
		return
	}
	for _, one := range info.Fields {
		name, _, _ := strings.Cut(one.Tag.Get("json"), ",")
		if name == field {
			from.Package.AddError(loader.ErrFromNode(remark, one.RawField))
			return
		}
	}
	from.Package.AddError(loader.ErrFromNode(remark, info.RawSpec))
}
