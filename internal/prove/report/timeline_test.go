package report

import (
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

var zero = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestWhenAFaultStruck(t *testing.T) {
	t.Parallel()
	changes := []runlog.Change{
		{At: zero.Add(1), Type: "ADDED", Resource: "pods", Name: "a"}, {At: zero.Add(2), Type: "ADDED", Resource: "pods", Name: "b"},
		{At: zero.Add(3), Type: "MODIFIED", Resource: "pods", Name: "a"}, {At: zero.Add(4), Type: "MODIFIED", Resource: "pods", Name: "a"},
	}
	event := func(m fault.Match) []fault.Fault {
		m.Verb = fault.Event
		return []fault.Fault{{Kind: fault.Hold, On: m}}
	}
	for name, c := range map[string]struct {
		course Course
		want   time.Duration
	}{
		"a request says it": {Course{Requests: []requestlog.Request{{At: zero}, {At: zero.Add(9), Fault: "kill on create pods #1"}}, Changes: changes, Struck: event(fault.Match{})}, 9},
		"the first event":   {Course{Changes: changes, Struck: event(fault.Match{})}, 1},
		"of a name":         {Course{Changes: changes, Struck: event(fault.Match{Resource: "pods", Name: "b"})}, 2},
		"the second change": {Course{Changes: changes, Struck: event(fault.Match{Resource: "pods", Type: "MODIFIED", Nth: 2})}, 4},
		"in a step": {Course{
			Changes: changes, Steps: []Step{{Name: "a", At: zero}, {Name: "b", At: zero.Add(4)}}, Struck: event(fault.Match{Type: "MODIFIED", Step: "b"}),
		}, 4},
		"one too many": {Course{Changes: changes, Struck: event(fault.Match{Resource: "pods", Type: "MODIFIED", Nth: 3})}, 0},
		"not an event": {Course{Changes: changes, Struck: []fault.Fault{{Kind: fault.Kill}}}, 0},
	} {
		at, known := c.course.struck()
		if known != (c.want > 0) || known && at.Sub(zero) != c.want {
			t.Errorf("%s: %v, %v", name, at.Sub(zero), known)
		}
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "kill after the effect on create pods #1": "kill after the effect",
		"delay on get pods #2; hold pods on get pods #2": "delay, hold pods",
	} {
		if got := mark(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
