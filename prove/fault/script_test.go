package fault_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/prove/fault"
	"github.com/operon-framework/operon/prove/record"
)

var patch = record.Request{Verb: "patch", Group: "g", Resource: "boxes", Subresource: "status", Namespace: "a", Name: "b"}

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

// struck is at which of ten requests of a kind the script strikes, and with what.
func struck(t *testing.T, faults ...fault.Fault) string {
	t.Helper()
	script, err := fault.NewScript(faults...)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for range 10 {
		f, ok := script.Next(patch)
		if !ok {
			f.Kind = "-"
		}
		kinds = append(kinds, string(f.Kind))
		script.Next(record.Request{Verb: "get", Resource: "boxes"}) // does not count
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
	} {
		if got := struck(t, faults...); got != want {
			t.Errorf("%v strike at %q, want %q", faults, got, want)
		}
	}
}

func TestPending(t *testing.T) {
	t.Parallel()
	script, err := fault.NewScript(fault.Fault{Kind: fault.Cut, On: fault.Match{Verb: "patch"}}, fault.Fault{Kind: fault.Kill, On: fault.Match{Nth: 2}})
	if err != nil {
		t.Fatal(err)
	}
	script.Next(patch)
	if left := script.Pending(); len(left) != 1 || left[0].Kind != fault.Kill || !script.Kills() {
		t.Errorf("pending are %v", left)
	}
	var none *fault.Script
	if _, ok := none.Next(patch); ok || none.Pending() != nil || none.Kills() {
		t.Error("no script has faults")
	}
}

func TestWhatIsNoFault(t *testing.T) {
	t.Parallel()
	second := metav1.Duration{Duration: time.Second}
	for want, f := range map[string]fault.Fault{
		`there is no fault "quake"`:  {Kind: "quake"},
		`cannot strike at`:           {Kind: fault.Conflict, Moment: fault.Answer},
		"a delay needs a time":       {Kind: fault.Delay},
		"for is the time of a delay": {Kind: fault.Cut, For: second},
		"retryAfter belongs":         {Kind: fault.Cut, RetryAfter: 1},
		"retryAfter is less":         {Kind: fault.Throttle, RetryAfter: -1},
		"only a watch":               {Kind: fault.CutWatch},
		"events are those":           {Kind: fault.Cut, Events: 1},
		"events is less":             {Kind: fault.CutWatch, On: fault.Match{Verb: "watch"}, Events: -1},
		"on.nth is less":             {Kind: fault.Cut, On: fault.Match{Nth: -1}},
		"on.times is less":           {Kind: fault.Cut, On: fault.Match{Times: -2}},
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
