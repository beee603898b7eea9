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
