package prove

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/runlog"
)

// thing returns an object with a condition, or without one.
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
	ends := func(objects ...*unstructured.Unstructured) runlog.Trace {
		return runlog.Trace{Steps: []runlog.Step{{State: objects}}}
	}
	no, yes := thing("one", "Ready", "False"), thing("one", "Ready", "True")
	for name, test := range map[string]struct {
		learnt []runlog.Trace
		want   bool
	}{
		"both not":  {[]runlog.Trace{ends(no), ends(no)}, true},
		"one not":   {[]runlog.Trace{ends(no), ends(yes)}, false},
		"ready":     {[]runlog.Trace{ends(yes), ends(yes)}, false},
		"silent":    {[]runlog.Trace{ends(thing("one", "", "")), ends(thing("one", "", ""))}, false},
		"unknown":   {[]runlog.Trace{ends(thing("one", "Ready", "Unknown")), ends(no)}, false},
		"other":     {[]runlog.Trace{ends(thing("two", "Ready", "False")), ends(thing("two", "Ready", "False"))}, false},
		"available": {[]runlog.Trace{ends(thing("one", "Available", "False")), ends(no)}, true},
		"not begun": {[]runlog.Trace{{}, {}}, false},
		"something": {[]runlog.Trace{ends(thing("one", "Degraded", "False")), ends(thing("one", "Degraded", "False"))}, false},
	} {
		s := &session{learnt: test.learnt, Options: Options{Samples: []*unstructured.Unstructured{thing("one", "", "")}}}
		got := strings.Join(s.unready(), "; ")
		if (got != "") != test.want || test.want && !strings.Contains(got, "Thing/one is not ready without any fault") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
