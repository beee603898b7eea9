package house

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// stored are the categories of names in docs/reference/stored-state.md: how the page writes them, and how they are found in the
// code.
var stored = []struct {
	sort   string
	inPage *regexp.Regexp
	inCode func(p *pkg, visit func(name string)) func(ast.Node) bool
}{
	{"key", regexp.MustCompile("`((?:[a-z]+\\.)?operon\\.dev/[a-z-]*|applyset\\.kubernetes\\.io/[a-z-]+)`"), keysIn},
	{"field manager", regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|"), managersIn},
	{"suffix of a name", regexp.MustCompile("`(?:NAME|SERVICE)(-[a-z]+-?)(?:REPLICA)?`"), suffixesIn},
	{"format version", regexp.MustCompile("package `([a-z/]+)` \\|[^|]*\\| ([0-9]+) \\|"), versionsIn},
}

// TestStoredStateIsListed fails if the page of stored state and the code differ in what Operon writes to a cluster. Keys that
// users set are on the page of annotations.
func TestStoredStateIsListed(t *testing.T) {
	t.Parallel()
	page := text(t, "docs/reference/stored-state.md")
	_, yours, _ := strings.Cut(text(t, "docs/reference/annotations.md"), "## For you to set")
	yours, _, _ = strings.Cut(yours, "\n## ")
	for _, s := range stored {
		listed, found := map[string]bool{}, map[string]bool{}
		for _, match := range s.inPage.FindAllStringSubmatch(page+yours, -1) {
			listed[strings.Join(match[1:], " ")] = true
		}
		for _, p := range sources(t) {
			if !writes(p) {
				continue
			}
			visit := s.inCode(p, func(name string) {
				found[name] = true
				if !listed[name] {
					t.Errorf("the page of stored state does not list the %s %q of package %q", s.sort, name, p.dir)
				}
			})
			for _, file := range p.files {
				ast.Inspect(file, visit)
			}
		}
		for name := range listed {
			if !found[name] {
				t.Errorf("the page of stored state lists the %s %q, which the code does not have", s.sort, name)
			}
		}
	}
}

// writes reports whether a package is part of a product that writes to clusters. Tests and benchmarks do not count.
func writes(p *pkg) bool {
	for _, dir := range []string{"bench", "operontest", "internal/testing", "prove/testdata"} {
		if strings.HasPrefix(p.dir, dir) {
			return false
		}
	}
	return true
}

func text(t *testing.T, page string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

var wholeKey = regexp.MustCompile(`^(([a-z]+\.)?operon\.dev/[a-z-]*|applyset\.kubernetes\.io/[a-z-]+)$`)

func keysIn(_ *pkg, visit func(string)) func(ast.Node) bool {
	return func(n ast.Node) bool {
		if value, ok := literal(n); ok && wholeKey.MatchString(value) {
			visit(value)
		}
		return true
	}
}

var managerName = regexp.MustCompile(`^([a-zA-Z]*[mM]anager|somebody[a-zA-Z]*|FieldManager)$`)

// managersIn finds constants whose names are names for field managers, and literals that are used as field managers.
func managersIn(_ *pkg, visit func(string)) func(ast.Node) bool {
	check := func(name ast.Node, value ast.Expr) {
		called, ok := name.(*ast.Ident)
		if manager, constant := literal(value); ok && constant && managerName.MatchString(called.Name) {
			visit(manager)
		}
	}
	return func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, value := range n.Values {
				check(n.Names[i], value)
			}
		case *ast.KeyValueExpr:
			check(n.Key, n.Value)
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "FieldOwner" {
				check(ast.NewIdent("manager"), n.Args[0])
			}
		}
		return true
	}
}

var suffix = regexp.MustCompile(`^-[a-z]+-?$`)

// suffixesIn finds suffixes that are added to the name of an operator or a Service to name another object.
func suffixesIn(p *pkg, visit func(string)) func(ast.Node) bool {
	of := p.dir == "" || strings.HasPrefix(p.dir, "internal/runtime/") || strings.HasPrefix(p.dir, "internal/ship/") || strings.HasPrefix(p.dir, "internal/tools/")
	return func(n ast.Node) bool {
		sum, ok := n.(*ast.BinaryExpr)
		if !ok || sum.Op != token.ADD {
			return of
		}
		for _, side := range []ast.Expr{sum.X, sum.Y} {
			if value, ok := literal(side); ok && suffix.MatchString(value) {
				visit(value)
			}
		}
		return true
	}
}

// versionsIn finds the version numbers of formats.
func versionsIn(p *pkg, visit func(string)) func(ast.Node) bool {
	return func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.EqualFold(spec.Names[0].Name, "version") {
			return true
		}
		if number, ok := spec.Values[0].(*ast.BasicLit); ok && number.Kind == token.INT {
			visit(p.dir + " " + number.Value)
		}
		return true
	}
}

// literal returns the value of a string literal.
func literal(n ast.Node) (string, bool) {
	l, ok := n.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(l.Value)
	return value, err == nil
}
