package prove

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/prove/trace"
)

// thing is an object with a condition, or none.
func thing(name, condition, status string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{}}
	made.SetAPIVersion("test.operon.dev/v1")
	made.SetKind("Thing")
	made.SetName(name)
	if condition != "" {
		made.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": condition, "status": status, "reason": "Because", "message": "a key is missing"},
		}}
	}
	return made
}

func TestUnready(t *testing.T) {
	t.Parallel()
	ends := func(objects ...*unstructured.Unstructured) trace.Trace {
		return trace.Trace{Steps: []trace.Step{{State: objects}}}
	}
	no, yes := thing("one", "Ready", "False"), thing("one", "Ready", "True")
	for name, test := range map[string]struct {
		learnt []trace.Trace
		want   bool
	}{
		"both not":  {[]trace.Trace{ends(no), ends(no)}, true},
		"one not":   {[]trace.Trace{ends(no), ends(yes)}, false},
		"ready":     {[]trace.Trace{ends(yes), ends(yes)}, false},
		"silent":    {[]trace.Trace{ends(thing("one", "", "")), ends(thing("one", "", ""))}, false},
		"unknown":   {[]trace.Trace{ends(thing("one", "Ready", "Unknown")), ends(no)}, false},
		"other":     {[]trace.Trace{ends(thing("two", "Ready", "False")), ends(thing("two", "Ready", "False"))}, false},
		"available": {[]trace.Trace{ends(thing("one", "Available", "False")), ends(no)}, true},
		"not begun": {[]trace.Trace{{}, {}}, false},
		"something": {[]trace.Trace{ends(thing("one", "Degraded", "False")), ends(thing("one", "Degraded", "False"))}, false},
	} {
		s := &session{learnt: test.learnt, Options: Options{Samples: []*unstructured.Unstructured{thing("one", "", "")}}}
		got := strings.Join(s.unready(), "; ")
		if (got != "") != test.want || test.want && !strings.Contains(got, "Thing/one is not ready without any fault") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
