package prove

import (
	"fmt"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// If an operator never becomes silent, there is no state with which another run could be compared.
func TestRestless(t *testing.T) {
	t.Parallel()
	silent, loud := runlog.Trace{Steps: []runlog.Step{{Silent: true}}}, runlog.Trace{Steps: []runlog.Step{{}}}
	for name, test := range map[string]struct {
		learnt []runlog.Trace
		want   bool
	}{
		"always":  {[]runlog.Trace{loud, loud}, true},
		"once":    {[]runlog.Trace{loud, silent}, false},
		"never":   {[]runlog.Trace{silent, silent}, false},
		"nothing": {[]runlog.Trace{{}, {}}, true},
	} {
		s := &session{learnt: test.learnt, Options: Options{Plans: 1}}
		if got := s.restless(); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		if test.want && (len(s.chosen()) > 0 || len(s.report.Notes) != 1) {
			t.Errorf("%s: there are plans, or the notes are %q", name, s.report.Notes)
		}
	}
}

// Four of seven plans are sweeps until all of them are among the plans. Then two of five are single faults. What is left of a list takes the places
// of lists that have ended.
func TestOrder(t *testing.T) {
	t.Parallel()
	plans := func(letter string, count int) []testplan.Plan {
		var all []testplan.Plan
		for i := range count {
			all = append(all, testplan.Plan{Name: fmt.Sprint(letter, i+1)})
		}
		return all
	}
	for want, lists := range map[string][4]int{
		"s1 c1 s2 o1 s3 c2 s4 s5 c3 s6 o2 c4 f1 c5 o3 f2 c6 f3 c7 f4 f5": {6, 5, 7, 3},
		"s1 s2 s3 f1 f2":       {3, 2, 0, 0},
		"f1 c1 o1 f2 c2 o2 o3": {0, 2, 2, 3},
	} {
		var names []string
		for _, p := range ordered(plans("s", lists[0]), plans("f", lists[1]), plans("c", lists[2]), plans("o", lists[3])) {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Not becoming silent in time is a note if it happened in one of several runs, and a failure if it always happens.
func TestWeighed(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]finding.Finding{
		"flaky and slow": {Property: finding.Silent, Flaky: true}, "slow": {Property: finding.Silent}, "flaky": {Property: finding.Alive, Flaky: true},
	} {
		if got := (&session{}).weighed(f); (got.Level == finding.Note) != (want == "flaky and slow") {
			t.Errorf("%s: the level is %q", want, got.Level)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	gone := []workload.Ref{{Kind: "Box", Name: "one"}}
	steps := []workload.Step{{Name: "create"}, {Name: "change"}, {Name: "delete", Delete: gone}, {Name: "recreate"}, {Name: "delete again", Delete: gone}}
	for faults, want := range map[string]string{
		"":              "create, change, delete",
		"create":        "create, change, delete",
		"create change": "create, change, delete",
		"delete":        "create, change, delete, recreate, delete again",
		"recreate":      "create, change, delete, recreate, delete again",
		"delete again":  "create, change, delete, recreate, delete again",
		"elsewhere":     "create, change, delete, recreate, delete again",
	} {
		p := testplan.Plan{Workload: workload.Workload{Steps: steps}}
		names := strings.Fields(faults)
		if faults == "delete again" {
			names = []string{faults}
		}
		for _, name := range names {
			p.Faults = append(p.Faults, fault.Fault{On: fault.Match{Step: name}})
		}
		var left []string
		for _, step := range short(p).Workload.Steps {
			left = append(left, step.Name)
		}
		if got := strings.Join(left, ", "); got != want {
			t.Errorf("%q: %s", faults, got)
		}
	}
}

// A finding that one plan could not repeat is confirmed by a later plan that shows it every time, and a flaky one never takes the place
// of one that is confirmed.
func TestAFlakyFindingIsConfirmedByAnotherPlan(t *testing.T) {
	t.Parallel()
	s := &session{found: map[string]*finding.Finding{}}
	show := func(plan string, flaky bool) *finding.Finding {
		f := finding.Finding{Property: finding.SameState, Message: "the Job is missing", Flaky: flaky, Plan: &testplan.Plan{Name: plan}}
		if s.known(f) {
			return nil // it is not run again
		}
		s.confirmed(f, &runlog.Trace{})
		return s.found[f.Key()]
	}
	if f := show("first", true); f == nil || !f.Flaky || f.Also != 0 {
		t.Fatalf("the first plan: %+v", f)
	}
	if f := show("second", true); f == nil || !f.Flaky || f.Plan.Name != "first" || f.Also != 1 {
		t.Fatalf("the second plan: %+v", f)
	}
	f := show("third", false)
	if f == nil || f.Flaky || f.Plan.Name != "third" || f.Also != 2 {
		t.Fatalf("the third plan: %+v", f)
	}
	if len(s.report.Timelines) != 1 {
		t.Errorf("%d timelines", len(s.report.Timelines))
	}
	s.confirmed(finding.Finding{Property: f.Property, Message: f.Message, Flaky: true}, nil) // of a plan that ran at the same time
	if f := s.found[f.Key()]; f.Flaky || f.Also != 3 {
		t.Errorf("after another flaky finding: %+v", f)
	}
	if f := show("fifth", false); f != nil {
		t.Errorf("a confirmed finding is confirmed again: %+v", f)
	}
}

// The same finding is not confirmed by one plan after the other: that would take the time of all others.
func TestAFlakyFindingIsConfirmedByFewPlans(t *testing.T) {
	t.Parallel()
	s := &session{found: map[string]*finding.Finding{}}
	f := finding.Finding{Property: finding.Silent, Flaky: true}
	plans := 0
	for range 20 {
		if s.known(f) {
			continue
		}
		plans++
		s.confirmed(f, nil)
	}
	if plans != flakyPlans || s.found[f.Key()].Also != 19 {
		t.Errorf("%d plans confirmed it, and %d others showed it", plans, s.found[f.Key()].Also)
	}
}
