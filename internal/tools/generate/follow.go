package generate

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Which references of a type are followed when types are checked decides how long a run takes:
// followed to the end, those of ObjectMeta alone lead into the sources of Go's own runtime.
// A follower keeps to what can be part of an object: it drops references in the standard library
// to its innards, in Kubernetes' own packages to what is neither encoded nor embedded, and
// in both to what functions and channels are made of. In all other packages, the project's
// above all, it follows what the generators ask for.
type follower struct {
	files   *token.FileSet
	origins map[string]origin // by folder
	asked   []loader.NodeFilter
}

// origin is where a package is from.
type origin int

const (
	elsewhere origin = iota
	standard
	kubernetes
)

// innards are packages of the standard library whose types are part of no object that can be encoded.
var innards = []string{"runtime", "reflect", "syscall", "os", "poll", "sync", "isync", "atomic", "slog", "regexp", "syntax", "context", "abi", "bufio", "bytes"}

func newFollower(files *token.FileSet, known *listing, asked []loader.NodeFilter) *follower {
	f := &follower{files: files, origins: map[string]origin{}, asked: asked}
	for _, pkg := range known.Response.Packages {
		if len(pkg.GoFiles) == 0 {
			continue
		}
		folder := filepath.Dir(pkg.GoFiles[0])
		switch {
		case known.Standard[pkg.ID]:
			f.origins[folder] = standard
		case strings.HasPrefix(pkg.PkgPath, "k8s.io/"):
			f.origins[folder] = kubernetes
		}
	}
	return f
}

// filters are those for a type checker. Without generators that check types there are none.
func (f *follower) filters() []loader.NodeFilter {
	if len(f.asked) == 0 {
		return nil
	}
	return []loader.NodeFilter{f.follows}
}

func (f *follower) follows(node ast.Node) bool {
	if !slices.ContainsFunc(f.asked, func(asked loader.NodeFilter) bool { return asked(node) }) {
		return false
	}
	switch node := node.(type) {
	case *ast.FuncType, *ast.ChanType:
		return f.origin(node) == elsewhere
	case *ast.Field:
		_, encoded := loader.ParseAstTag(node.Tag).Lookup("json")
		return encoded || len(node.Names) == 0 || f.origin(node) != kubernetes
	case *ast.SelectorExpr:
		from, ok := node.X.(*ast.Ident)
		return !ok || !slices.Contains(innards, from.Name) || f.origin(node) != standard
	}
	return true
}

func (f *follower) origin(node ast.Node) origin {
	return f.origins[filepath.Dir(f.files.File(node.Pos()).Name())]
}
