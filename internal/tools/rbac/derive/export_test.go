package derive

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// Known is the derived resource and scope of a kind of Kubernetes itself.
type Known struct {
	Resource string
	Cluster  bool
}

// WellKnown returns the kinds of Kubernetes itself as they are derived from their Go types.
func WellKnown() (map[schema.GroupVersionKind]Known, error) {
	direct := map[string]bool{}
	var paths []string
	for name := range wellKnown() {
		path, _, _ := strings.Cut(name[strings.LastIndex(name, "/"):], ".")
		path = name[:strings.LastIndex(name, "/")] + path
		if !direct[path] {
			direct[path], paths = true, append(paths, path)
		}
	}
	files := token.NewFileSet()
	roots, err := loader.LoadRootsWithConfig(&packages.Config{Fset: files}, paths...)
	if err != nil {
		return nil, err
	}
	p := &program{
		GenerationContext: genall.GenerationContext{Collector: &markers.Collector{Registry: &markers.Registry{}}}, files: files,
		own: map[string]*unit{}, direct: direct, done: map[string]*types.Package{}, byPath: map[string]*loader.Package{},
	}
	found := map[schema.GroupVersionKind]Known{}
	for _, root := range roots {
		for _, name := range p.typesOf(root).Scope().Names() {
			gvk, ok := wellKnown()[root.PkgPath+"."+name]
			if !ok {
				continue
			}
			if k, ok := p.kindOf(p.typesOf(root).Scope().Lookup(name).Type().(*types.Named)); ok {
				found[gvk] = Known{k.Resource, k.Cluster}
			}
		}
	}
	return found, nil
}
