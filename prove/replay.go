package prove

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Replay carries out the plan of a file, after the runs without faults that it is compared with, and
// returns what it shows. These go as far as the plan does; what shows without any fault needs no more
// than them. Where the file names a finding and the plan does not show it, the plan is tried three times,
// with more patience, as a race is not won by the same one each time; the report has a run for each.
//
// Guarantees: what is found is neither confirmed by another run nor made smaller: it was.
func Replay(ctx context.Context, options Options, file *File) (*report.Report, error) {
	return run(ctx, options, file, (*session).repetition)
}

// repetition is the plan of the session's file, where it is more than the runs without faults were.
func (s *session) repetition() []testplan.Plan {
	p := s.replayed.Plan
	if len(p.Faults) == 0 && reflect.DeepEqual(p.Workload, s.base) {
		return nil
	}
	return []testplan.Plan{p}
}

// asFarAs is a workload up to the last of its steps that another one has too, which is at least the
// first.
func asFarAs(w, other workload.Workload) workload.Workload {
	last := 0
	for i, step := range w.Steps {
		if slices.ContainsFunc(other.Steps, func(s workload.Step) bool { return s.Name == step.Name }) {
			last = i
		}
	}
	w.Steps = w.Steps[:min(last+1, len(w.Steps))]
	return w
}

// replays tells whether the session repeats a finding about a property.
func (s *session) replays(property finding.Property) bool {
	return s.replayed != nil && strings.HasPrefix(s.replayed.Finding, string(property)+"|")
}
