package generate

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// narrowed returns a filter for a type checker that follows the references requested by the generators, except references in
// the standard library and in Kubernetes packages that cannot be part of an encoded object. Without it, ObjectMeta alone
// leads to the sources of Go's runtime, and a run takes 50% longer.
func narrowed(files *token.FileSet, roots []*loader.Package, asked []loader.NodeFilter) []loader.NodeFilter {
	if len(asked) == 0 {
		return nil
	}
	foreign := map[string]bool{}
	visit(roots, func(pkg *packages.Package) {
		first, _, _ := strings.Cut(pkg.PkgPath, "/")
		if len(pkg.GoFiles) > 0 && (first == "k8s.io" || !strings.Contains(first, ".") && inStandardLibrary(pkg)) {
			foreign[filepath.Dir(pkg.GoFiles[0])] = true
		}
	})
	return []loader.NodeFilter{func(node ast.Node) bool {
		return slices.ContainsFunc(asked, func(asks loader.NodeFilter) bool { return asks(node) }) &&
			(encodes(node) || !foreign[filepath.Dir(files.File(node.Pos()).Name())])
	}}
}

// encodes reports whether a node can be part of an encoded object.
func encodes(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.FuncType, *ast.ChanType:
		return false
	case *ast.Field:
		_, tagged := loader.ParseAstTag(node.Tag).Lookup("json")
		return tagged || len(node.Names) == 0
	}
	return true
}
