package syntax_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/syntax"
)

func TestAny(t *testing.T) {
	t.Parallel()
	expression, err := parser.ParseExpr("f(a, g(b))")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"f": true, "b": true, "c": false} {
		if got := syntax.Any(expression, func(n *ast.Ident) bool { return n.Name == name }); got != want {
			t.Errorf("%s is found: %t", name, got)
		}
	}
	if !syntax.Any(expression, func(n ast.Expr) bool { return n == expression }) {
		t.Error("the root is left out")
	}
	if syntax.Any(expression, func(*ast.StarExpr) bool { return true }) {
		t.Error("a node of another type is found")
	}
}

func TestDeclared(t *testing.T) {
	t.Parallel()
	source := "package p\nimport \"fmt\"\nfunc F() {}\nfunc (T) M() {}\ntype (\n\tT int\n\tU = T\n)\nvar a, b = 1, 2\nconst c = 3\n"
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, declaration := range file.Decls {
		names = append(names, syntax.Declared(declaration)...)
	}
	if got := strings.Join(names, " "); got != "F T U a b c" {
		t.Errorf("got %s", got)
	}
}
