package trigger

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
	"time"
)

func TestCausesInWords(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Cause{
		"the operator started":                     {Kind: OperatorStarted},
		"Deployment web changed: its spec":         {Kind: ChildChanged, Object: Object{Kind: "Deployment", Name: "web"}, Note: "its spec"},
		"Secret token was deleted, which it reads": {Kind: ReadGone, Object: Object{Kind: "Secret", Namespace: "a", Name: "token"}},
		"retry after an error: refused":            {Kind: RetryAfterError, Note: "refused"},
	} {
		if got := c.String(); got != want {
			t.Errorf("%+v says %q, want %q", c, got, want)
		}
	}
}

func TestEveryKindHasWords(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "trigger.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || fmt.Sprint(spec.Type) != "Kind" {
			return true
		}
		count++
		literal := spec.Values[0].(*ast.BasicLit).Value
		if kind := Kind(literal[1 : len(literal)-1]); text[kind] == "" {
			t.Errorf("%s has no words", spec.Names[0])
		}
		return true
	})
	if count != len(text) {
		t.Errorf("%d constants, %d words", count, len(text))
	}
}

func TestGatheredIsBounded(t *testing.T) {
	t.Parallel()
	var g Gathered
	start := time.Unix(1, 0)
	for i := range 100 {
		g.Add(Cause{Kind: ChildChanged, Object: Object{Kind: "Pod", Name: fmt.Sprint(i % 10)}, At: start.Add(time.Duration(i))})
	}
	if len(g.Causes) != MaxKept || g.More != 20 {
		t.Errorf("%d kept, %d more", len(g.Causes), g.More)
	}
	if first := g.Causes[0]; first.Times != 10 || !first.At.Equal(start.Add(90)) {
		t.Errorf("the first is %+v", first)
	}
	if kinds := g.Kinds(); !slices.Equal(kinds, []string{"child-changed"}) {
		t.Errorf("kinds %q", kinds)
	}
	if !g.Newest().Equal(start.Add(97)) {
		t.Errorf("the newest is of %s", g.Newest())
	}
}

func TestAlikeCausesAreToldTogether(t *testing.T) {
	t.Parallel()
	var g Gathered
	for _, name := range []string{"a", "b", "c"} {
		g.Add(Cause{Kind: ChildGone, Object: Object{Kind: "Pod", Name: name}})
	}
	g.Add(Cause{Kind: SpecChanged})
	g.Add(Cause{Kind: ChildGone, Object: Object{Kind: "Service", Name: "a"}})
	want := []string{"3 Pods went away", "its spec changed", "Service a went away"}
	if got := g.Summary(); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}
