package prove

import (
	"strings"
	"testing"
	"time"

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

// stated returns an object with a field of its status.
func stated(field string, value any) *unstructured.Unstructured {
	made := thing("one", "", "")
	made.Object["status"] = map[string]any{field: value}
	return made
}

// readyIn returns an object that is ready, in a phase.
func readyIn(phase string) *unstructured.Unstructured {
	made := thing("one", "Ready", "True")
	made.Object["status"].(map[string]any)["phase"] = phase
	return made
}

// The pauses of an operator are those in the first step, before and between its changes.
func TestLongestPause(t *testing.T) {
	t.Parallel()
	began := time.Now()
	samples := []*unstructured.Unstructured{thing("one", "", "")}
	seen := &runlog.Trace{Steps: []runlog.Step{{At: began}, {At: began.Add(time.Minute), LastChange: 6}}}
	for _, change := range []struct {
		after time.Duration
		name  string
	}{{-time.Second, "one"}, {time.Second, "pod"}, {8 * time.Second, "one"}, {9 * time.Second, "one"}, {30 * time.Second, "pod"}, {2 * time.Minute, "one"}} {
		seen.Changes = append(seen.Changes, runlog.Change{At: began.Add(change.after), Kind: "Thing", Name: change.name})
	}
	seen.Steps[0].LastChange = 5
	if got := longestPause(seen, samples); got != 7*time.Second {
		t.Errorf("the longest pause is %s", got)
	}
	seen.Steps[0].State, seen.Steps[0].Silent = []*unstructured.Unstructured{thing("one", "Ready", "True")}, true
	s := &session{Options: Options{Samples: samples}}
	if got := s.pauseBefore(seen); got != 7*time.Second {
		t.Errorf("the pause is %s", got)
	}
	seen.Steps[0].Silent = false
	if got := s.pauseBefore(seen); got != 0 {
		t.Errorf("of an operator that does not become silent, the pause is %s", got)
	}
	seen.Steps[0].State, seen.Steps[0].Silent = []*unstructured.Unstructured{thing("one", "Ready", "False")}, true
	if got := s.pauseBefore(seen); got != 0 {
		t.Errorf("of a sample that does not become ready, the pause is %s", got)
	}
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
		"both not":       {[]runlog.Trace{ends(no), ends(no)}, true},
		"one not":        {[]runlog.Trace{ends(no), ends(yes)}, false},
		"ready":          {[]runlog.Trace{ends(yes), ends(yes)}, false},
		"silent":         {[]runlog.Trace{ends(thing("one", "", "")), ends(thing("one", "", ""))}, false},
		"unknown":        {[]runlog.Trace{ends(thing("one", "Ready", "Unknown")), ends(no)}, false},
		"other":          {[]runlog.Trace{ends(thing("two", "Ready", "False")), ends(thing("two", "Ready", "False"))}, false},
		"available":      {[]runlog.Trace{ends(thing("one", "Available", "False")), ends(no)}, true},
		"not begun":      {[]runlog.Trace{{}, {}}, false},
		"a phase":        {[]runlog.Trace{ends(stated("phase", "Creating")), ends(stated("state", "pending"))}, true},
		"another phase":  {[]runlog.Trace{ends(stated("phase", "Running")), ends(stated("phase", "Running"))}, false},
		"a field":        {[]runlog.Trace{ends(stated("ready", false)), ends(stated("ready", false))}, true},
		"ready in phase": {[]runlog.Trace{ends(readyIn("Pending")), ends(readyIn("Pending"))}, false},
		"something":      {[]runlog.Trace{ends(thing("one", "Degraded", "False")), ends(thing("one", "Degraded", "False"))}, false},
	} {
		s := &session{learnt: test.learnt, Options: Options{Samples: []*unstructured.Unstructured{thing("one", "", "")}}}
		got := strings.Join(s.unready(), "; ")
		if (got != "") != test.want || test.want && !strings.Contains(got, "Thing/one is not ready without any fault") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
