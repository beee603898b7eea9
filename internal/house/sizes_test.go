package house

import (
	"go/ast"
	"testing"
)

// Limits on size, in lines. The best comparable projects stay far below them.
const (
	maxFile     = 500
	maxFunction = 80
)

func TestFilesAndFunctionsAreSmall(t *testing.T) {
	t.Parallel()
	for _, p := range sources(t) {
		for _, file := range p.files {
			if lines := linesOf(file); lines > maxFile {
				t.Errorf("%s has %d lines, the limit is %d: it has more than one subject", place(file.Package), lines, maxFile)
			}
			for _, declaration := range file.Decls {
				f, ok := declaration.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if lines := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line; lines > maxFunction {
					t.Errorf("%s: function %s has %d lines, the limit is %d", place(f.Pos()), f.Name.Name, lines, maxFunction)
				}
			}
		}
	}
}

func linesOf(file *ast.File) int { return fset.File(file.Pos()).LineCount() }
