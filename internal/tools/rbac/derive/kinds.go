package derive

import (
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/operon-framework/operon/internal/tools/project"
)

// kind is a kind of objects in the form that rules use.
type kind struct {
	Group, Resource string
	// Kind is its name; it is empty if only a marker names the resource.
	Kind string
	// Cluster reports that its objects are cluster-scoped. Unscoped reports that this is not known.
	Cluster, Unscoped bool
}

// wellKnown returns the kinds of Kubernetes itself, by the paths and names of their Go types.
var wellKnown = sync.OnceValue(func() map[string]schema.GroupVersionKind {
	scheme := runtime.NewScheme()
	found := map[string]schema.GroupVersionKind{}
	if clientgoscheme.AddToScheme(scheme) != nil || apiextensionsv1.AddToScheme(scheme) != nil {
		return found
	}
	for gvk, of := range scheme.AllKnownTypes() {
		if !strings.HasPrefix(of.PkgPath(), "k8s.io/apimachinery/") && gvk.Version != runtime.APIVersionInternal {
			found[typeName(of)] = gvk
		}
	}
	return found
})

func typeName(of reflect.Type) string { return of.PkgPath() + "." + of.Name() }

// kindOf returns the kind of a Go type. It returns false if the type is not in a known API group.
func (p *program) kindOf(of *types.Named) (kind, bool) {
	name := of.Obj()
	if gvk, ok := wellKnown()[name.Pkg().Path()+"."+name.Name()]; ok {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		return kind{Group: gvk.Group, Resource: plural.Resource, Kind: gvk.Kind, Cluster: p.said(of, "+genclient:nonNamespaced")}, true
	}
	within := p.byPath[name.Pkg().Path()]
	if within == nil {
		return kind{}, false
	}
	group, ok := p.groupOf(within, name.Pkg())
	if !ok {
		return kind{}, false
	}
	made := kind{Group: group, Kind: name.Name(), Resource: project.Plural(name.Name()), Cluster: p.said(of, "+genclient:nonNamespaced")}
	p.eachType(within, func(info *markers.TypeInfo) {
		if info.Name != made.Kind {
			return
		}
		for _, value := range info.Markers["kubebuilder:resource"] {
			if said, ok := value.(crdmarkers.Resource); ok {
				if said.Path != "" {
					made.Resource = said.Path
				}
				made.Cluster = made.Cluster || said.Scope == "Cluster"
			}
		}
	})
	return made, true
}

// eachType calls show for the types of a package with their markers. Other generators report errors in markers.
func (p *program) eachType(of *loader.Package, show func(*markers.TypeInfo)) {
	_ = markers.EachType(p.Collector, of, show)
}

// groupOf returns the API group of a package: from its marker, or from the constant that generated clients use.
func (p *program) groupOf(of *loader.Package, checked *types.Package) (string, bool) {
	if said, err := markers.PackageMarkers(p.Collector, of); err == nil {
		if group, ok := said.Get("groupName").(string); ok {
			return group, true
		}
	}
	for _, name := range []string{"GroupName", "Group", "APIGroup"} {
		if value, ok := checked.Scope().Lookup(name).(*types.Const); ok && value.Val().Kind() == constant.String {
			return constant.StringVal(value.Val()), true
		}
	}
	return "", false
}

// said reports whether a comment above a type contains a line.
func (p *program) said(of *types.Named, line string) bool {
	within := p.byPath[of.Obj().Pkg().Path()]
	if within == nil {
		return false
	}
	for _, file := range within.Syntax {
		if of.Obj().Pos() < file.FileStart || of.Obj().Pos() >= file.FileEnd {
			continue
		}
		for _, declared := range file.Decls {
			block, ok := declared.(*ast.GenDecl)
			if !ok || of.Obj().Pos() < block.Pos() || of.Obj().Pos() >= block.End() {
				continue
			}
			return commented(file, block, line)
		}
	}
	return false
}

// commented reports whether a line is in the comment of a declaration, or in a comment before it.
func commented(file *ast.File, block *ast.GenDecl, line string) bool {
	from := block.Pos()
	for _, other := range file.Decls {
		if other.End() < block.Pos() {
			from = other.End()
		}
	}
	for _, group := range file.Comments {
		if group.End() > block.Pos() || from != block.Pos() && group.Pos() < from {
			continue
		}
		for _, comment := range group.List {
			if strings.TrimSpace(strings.TrimPrefix(comment.Text, "//")) == line {
				return true
			}
		}
	}
	return false
}

// objectOf finds the API type in the type of an expression: an object, a pointer to one, a list of objects, or an API's list
// type.
func objectOf(of types.Type) *types.Named {
	switch of := types.Unalias(of).(type) {
	case *types.Pointer:
		return objectOf(of.Elem())
	case *types.Slice:
		return objectOf(of.Elem())
	case *types.Array:
		return objectOf(of.Elem())
	case *types.Map:
		return objectOf(of.Elem())
	case *types.Named:
		fields, ok := of.Underlying().(*types.Struct)
		if !ok {
			return nil
		}
		if item := itemOf(fields); item != nil {
			return item
		}
		if embeds(fields, "TypeMeta") && embeds(fields, "ObjectMeta") || loose(of) {
			return of
		}
	}
	return nil
}

// itemOf returns the type of the items of an API's list type.
func itemOf(list *types.Struct) *types.Named {
	if !embeds(list, "TypeMeta") || !embeds(list, "ListMeta") {
		return nil
	}
	for field := range list.Fields() {
		if field.Name() == "Items" {
			return objectOf(field.Type())
		}
	}
	return nil
}

func embeds(fields *types.Struct, name string) bool {
	for field := range fields.Fields() {
		if field.Embedded() && field.Name() == name && isFrom(field.Type(), metaPath) {
			return true
		}
	}
	return false
}

// loose reports whether objects of a Go type may have any kind.
func loose(of *types.Named) bool {
	switch of.Obj().Name() {
	case "Unstructured", "UnstructuredList":
		return isFrom(of, unstructuredPath)
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return isFrom(of, metaPath)
	}
	return false
}

// isFrom reports whether a type is declared in a package.
func isFrom(of types.Type, path string) bool {
	named, ok := types.Unalias(of).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}
