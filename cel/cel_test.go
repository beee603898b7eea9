package cel_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/cel"
	"github.com/operon-framework/operon/internal/runtime/author"
)

func TestReadyWhen(t *testing.T) {
	t.Parallel()
	up := map[string]any{"status": map[string]any{"phase": "Up", "nodes": int64(3)}}
	tests := []struct {
		name, expression string
		live             map[string]any
		ready            bool
		why              string
	}{
		{"true", "self.status.phase == 'Up'", up, true, ""},
		{"false", "self.status.phase == 'Down'", up, false, "self.status.phase == 'Down' is false"},
		{"numbers", "self.status.nodes >= 3", up, true, ""},
		{"a field that is not there", "self.status.phase == 'Up'", map[string]any{}, false, "no such key: status"},
		{"a field that is asked for", "has(self.status) && self.status.phase == 'Up'", map[string]any{}, false, "is false"},
		{"an optional field", "self.?status.?phase.orValue('') == 'Up'", map[string]any{}, false, "is false"},
		{"quantities", "quantity(self.memory).isGreaterThan(quantity('1Gi'))", map[string]any{"memory": "2Gi"}, true, ""},
		{"addresses", "isIP(self.ip) && cidr('10.0.0.0/8').containsIP(self.ip)", map[string]any{"ip": "10.1.2.3"}, true, ""},
		{"URLs", "url(self.url).getHost() == 'example.com'", map[string]any{"url": "https://example.com/"}, true, ""},
		{"versions", "semver(self.version).isGreaterThan(semver('1.9.0'))", map[string]any{"version": "1.10.0"}, true, ""},
		{"regular expressions", "self.name.find('[0-9]+') == '12'", map[string]any{"name": "db-12"}, true, ""},
		{"strings", "self.name.lowerAscii().split('-')[0] == 'db'", map[string]any{"name": "DB-12"}, true, ""},
		{"sets", "sets.contains(self.have, ['a'])", map[string]any{"have": []any{"a", "b"}}, true, ""},
		{"lists", "self.list.sum() == 3 && self.list.isSorted()", map[string]any{"list": []any{int64(1), int64(2)}}, true, ""},
		{"no bool at last", "self.status.phase", up, false, "is Up"},
		{"too much", "range.all(a, range.all(b, range.all(c, a + b + c >= 0)))", nil, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.live == nil {
				numbers := make([]any, 200)
				for i := range numbers {
					numbers[i] = int64(i)
				}
				test.live, test.why = map[string]any{"range": numbers}, "cost limit exceeded"
				test.expression = strings.ReplaceAll(test.expression, "range.", "self.range.")
			}
			ready, why, err := author.Ask(&unstructured.Unstructured{Object: test.live}, cel.ReadyWhen(test.expression))
			if err != nil || ready != test.ready || !strings.Contains(why, test.why) {
				t.Errorf("%s: ready %t, %q, %v; want %t, %q", test.expression, ready, why, err, test.ready, test.why)
			}
		})
	}
}

func TestExpressionsThatDoNotCompile(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{"self.": "Syntax error", "other == 1": "undeclared reference", "'a'": "not bool"} {
		_, _, err := author.Ask(&unstructured.Unstructured{}, cel.ReadyWhen(expression))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), expression) {
			t.Errorf("%s: error %v, want one with %q", expression, err, want)
		}
	}
}

// FuzzCondition evaluates expressions that authors may make of what users write.
func FuzzCondition(f *testing.F) {
	for _, expression := range []string{"self.a == 1", "self.?b.c.orValue('')", "[1,2].all(x, x > self.a)", "quantity(self.b)", "'a'.matches('(a+)+$')", "self", "\x00", "{"} {
		f.Add(expression)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"a": int64(1), "b": "text", "c": []any{"x", map[string]any{}}}}
	f.Fuzz(func(t *testing.T, expression string) {
		holds, err := cel.Condition(expression)
		if err != nil {
			return
		}
		if ok, why := holds(object); !ok && why == "" {
			t.Errorf("%q is false without a reason", expression)
		}
	})
}
