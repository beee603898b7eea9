package fault_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

var patch = requestlog.Request{Verb: "patch", Group: "g", Resource: "boxes", Subresource: "status", Namespace: "a", Name: "b"}

func TestMatchFits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		match fault.Match
		want  bool
	}{
		{fault.Match{}, true},
		{fault.Match{Verb: "patch", Group: "g", Resource: "boxes/status", Namespace: "a", Name: "b"}, true},
		{fault.Match{Resource: "boxes/*"}, true},
		{fault.Match{Resource: "boxes"}, false},
		{fault.Match{Resource: "crates/status"}, false},
		{fault.Match{Verb: "get"}, false},
		{fault.Match{Group: "h"}, false},
		{fault.Match{Namespace: "c"}, false},
		{fault.Match{Name: "c"}, false},
	} {
		if got := test.match.Fits(patch); got != test.want {
			t.Errorf("%+v: %v", test.match, got)
		}
	}
}

// struck returns the occurrences, among ten requests of a kind, into which the script injects faults, and these faults.
func struck(t *testing.T, faults ...fault.Fault) string {
	t.Helper()
	script, err := fault.NewScript(faults...)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for range 10 {
		var all []string
		for _, f := range script.Next(patch) {
			all = append(all, string(f.Kind))
		}
		kinds = append(kinds, cmp.Or(strings.Join(all, "+"), "-"))
		script.Next(requestlog.Request{Verb: "get", Resource: "boxes"}) // does not count
	}
	return strings.TrimRight(strings.Join(kinds, " "), " -")
}

func TestOccurrences(t *testing.T) {
	t.Parallel()
	on := func(nth, times int) fault.Match { return fault.Match{Verb: "patch", Nth: nth, Times: times} }
	cut, conflict := fault.Cut, fault.Conflict
	for want, faults := range map[string][]fault.Fault{
		"":                        nil,
		"cut":                     {{Kind: cut, On: on(0, 0)}},
		"- - cut":                 {{Kind: cut, On: on(3, 0)}},
		"- cut cut":               {{Kind: cut, On: on(2, 2)}},
		"- - - - - - - - cut cut": {{Kind: cut, On: on(9, fault.Always)}},
		"cut conflict":            {{Kind: cut, On: on(1, 1)}, {Kind: conflict, On: on(2, 1)}},
		"conflict conflict cut":   {{Kind: conflict, On: on(1, 2)}, {Kind: cut, On: on(2, 2)}},
		"hold conflict+hold":      {{Kind: conflict, On: on(2, 1)}, {Kind: fault.Hold, On: on(1, 2)}, {Kind: cut, On: on(2, 1)}},
	} {
		if got := struck(t, faults...); got != want {
			t.Errorf("%v strike at %q, want %q", faults, got, want)
		}
	}
}

// Events are counted separately from requests, by object and type.
func TestEvents(t *testing.T) {
	t.Parallel()
	script, err := fault.NewScript(
		fault.Fault{Kind: fault.Hold, View: "pods", On: fault.Match{Verb: fault.Event, Resource: "boxes", Type: "MODIFIED", Nth: 2}},
		fault.Fault{Kind: fault.Kill, On: fault.Match{Resource: "boxes"}},
	)
	if err != nil || !script.Watches() {
		t.Fatal(err)
	}
	box := requestlog.Request{Verb: "watch", Group: "g", Resource: "boxes", Namespace: "a", Name: "b"}
	for i, kind := range []string{"ADDED", "MODIFIED", "DELETED", "MODIFIED", "MODIFIED"} {
		struck := script.Event(box, kind)
		if (len(struck) == 1) != (i == 3) {
			t.Errorf("event %d is struck by %v", i, struck)
		}
	}
	left := script.Pending()
	if len(left) != 1 || left[0].Kind != fault.Kill {
		t.Errorf("pending are %v", left)
	}
	if got := script.Struck()[0]; got.String() != "hold pods on event boxes MODIFIED #2" || got.For.Duration != fault.DefaultHold || got.Quiet.Duration != fault.DefaultQuiet {
		t.Errorf("struck is %+v, %s", got, got)
	}
}

// A Past that a write selects is selected once, in its step, and no fault is injected into that write.
func TestPasses(t *testing.T) {
	t.Parallel()
	to := fault.Match{Verb: "patch", Resource: "boxes/status", Step: "change", Nth: 2}
	script, err := fault.NewScript(fault.Fault{Kind: fault.Past, On: fault.Match{Verb: "create"}, To: to})
	if err != nil {
		t.Fatal(err)
	}
	var none *fault.Script
	for i, step := range []string{"create", "change", "change", "change"} {
		script.At(step)
		if chosen := script.Passes(patch); (len(chosen) == 1 && chosen[0] == to) != (i == 2) || none.Passes(patch) != nil {
			t.Errorf("patch %d: %v", i, chosen)
		}
	}
	if struck := script.Struck(); len(struck) > 0 {
		t.Errorf("struck are %v", struck)
	}
}

func TestPending(t *testing.T) {
	t.Parallel()
	script, err := fault.NewScript(fault.Fault{Kind: fault.Cut, On: fault.Match{Verb: "patch"}}, fault.Fault{Kind: fault.Kill, On: fault.Match{Nth: 2}})
	if err != nil {
		t.Fatal(err)
	}
	script.Next(patch)
	if left := script.Pending(); len(left) != 1 || left[0].Kind != fault.Kill || !script.Has(fault.Past, fault.Kill) || script.Has(fault.Past) || script.Watches() {
		t.Errorf("pending are %v", left)
	}
	if done := script.Struck(); len(done) != 1 || done[0].Kind != fault.Cut {
		t.Errorf("struck are %v", done)
	}
	var none *fault.Script
	if none.Next(patch) != nil || none.Pending() != nil || none.Struck() != nil || none.Has(fault.Cut) {
		t.Error("no script has faults")
	}
}

func TestWhatIsNoFault(t *testing.T) {
	t.Parallel()
	second := metav1.Duration{Duration: time.Second}
	for want, f := range map[string]fault.Fault{
		`unknown fault "quake"`:        {Kind: "quake"},
		`cannot fire at`:               {Kind: fault.Conflict, Moment: fault.Answer},
		"delay needs a duration":       {Kind: fault.Delay},
		"for is not a field":           {Kind: fault.Cut, For: second},
		"durations must not be":        {Kind: fault.Outage, For: metav1.Duration{Duration: -1}},
		"quiet is not a field":         {Kind: fault.Relist, Quiet: second},
		"view is not a field":          {Kind: fault.Kill, View: "pods"},
		"back, step and to are":        {Kind: fault.Kill, Back: 1},
		"set one of back, step and to": {Kind: fault.Past, Back: 1, Step: "create"},
		"not an event":                 {Kind: fault.Past, To: fault.Match{Verb: fault.Event}},
		"an event cannot trigger":      {Kind: fault.Conflict, On: fault.Match{Verb: fault.Event}},
		"at the moment answer":         {Kind: fault.Kill, Moment: fault.Answer, On: fault.Match{Verb: fault.Event}},
		"on.type requires":             {Kind: fault.Kill, On: fault.Match{Type: "ADDED"}},
		"want one of":                  {Kind: fault.Kill, On: fault.Match{Verb: fault.Event, Type: "BOOKMARK"}},
		"retryAfter is not a field":    {Kind: fault.Cut, RetryAfter: 1},
		"retryAfter must not be":       {Kind: fault.Throttle, RetryAfter: -1},
		"only a watch":                 {Kind: fault.CutWatch},
		"events is not a field":        {Kind: fault.Cut, Events: 1},
		"events must not be":           {Kind: fault.CutWatch, On: fault.Match{Verb: "watch"}, Events: -1},
		"on.nth must be":               {Kind: fault.Cut, On: fault.Match{Nth: -1}},
		"on.times must be":             {Kind: fault.Cut, On: fault.Match{Times: -2}},
	} {
		if _, err := fault.NewScript(fault.Fault{Kind: fault.Cut}, f); err == nil || !strings.Contains(err.Error(), "fault 2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
}

func TestFaultsAsData(t *testing.T) {
	t.Parallel()
	text := `{"kind":"delay","moment":"effect","on":{"verb":"patch","resource":"boxes/status","nth":2},"for":"1.5s"}`
	var f fault.Fault
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(f)
	if err != nil || string(back) != text {
		t.Errorf("%s, %v", back, err)
	}
	if got := f.String(); got != "delay after the effect on patch boxes/status #2" {
		t.Error(got)
	}
}

// TestSteps: the count of a fault in a step restarts with the step.
func TestSteps(t *testing.T) {
	t.Parallel()
	script, err := fault.NewScript(fault.Fault{Kind: fault.Cut, On: fault.Match{Verb: "patch", Step: "change", Nth: 2}})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for i, step := range []string{"create", "create", "create", "change", "change", "change", "delete", "delete"} {
		script.At(step)
		if len(script.Next(patch)) > 0 {
			got = append(got, i)
		}
	}
	if len(got) != 1 || got[0] != 4 {
		t.Errorf("it strikes at %v", got)
	}
}
