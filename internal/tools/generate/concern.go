package generate

import (
	"go/ast"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/operon-framework/operon/internal/tools/generate/crds"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

// concerns maps generators to the packages that they can use. Type-checking the other packages and everything that they
// import would take most of the time of a run, with no effect. Generators that are not listed get all packages.
var concerns = map[string]func(*loader.Package) bool{
	"object": mentions("+kubebuilder:object", "+k8s:deepcopy-gen"),
	"crd":    declaresKinds,
}

// concerning returns the packages that the named generator has to process.
func concerning(generator string, roots []*loader.Package) []*loader.Package {
	wanted, ok := concerns[generator]
	if !ok {
		return roots
	}
	var some []*loader.Package
	for _, root := range roots {
		root.NeedSyntax()
		if wanted(root) {
			some = append(some, root)
		}
	}
	return some
}

// mentions returns a function that reports whether a comment of a package contains one of the markers.
func mentions(markers ...string) func(*loader.Package) bool {
	in := func(comment *ast.Comment) bool {
		text := strings.ReplaceAll(comment.Text, " ", "")
		return slices.ContainsFunc(markers, func(marker string) bool { return strings.Contains(text, marker) })
	}
	return func(pkg *loader.Package) bool {
		for _, file := range pkg.Syntax {
			for _, group := range file.Comments {
				if slices.ContainsFunc(group.List, in) {
					return true
				}
			}
		}
		return false
	}
}

// declaresKinds reports whether a package declares a struct that embeds metadata.
func declaresKinds(pkg *loader.Package) bool {
	return slices.ContainsFunc(pkg.Syntax, func(file *ast.File) bool {
		return syntax.Any(file, func(structure *ast.StructType) bool {
			return slices.ContainsFunc(structure.Fields.List, crds.IsMetadata)
		})
	})
}
