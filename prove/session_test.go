package prove

import (
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
