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

// Replay runs the plan of a file, after the runs without faults that it is compared with, and returns what it
// shows. These runs go only as far as the plan does. A finding that needs no fault needs only these runs. If the
// file names a finding and the plan does not show it, the plan is tried three times, with longer time limits,
// because the outcome of a race varies. The report then has one run for each try.
//
// Guarantees: findings are neither confirmed by another run nor minimized, because the session that wrote the file
// has done both.
func Replay(ctx context.Context, options Options, file *File) (*report.Report, error) {
	return run(ctx, options, file, (*session).repetition)
}

// repetition returns the plan of the session's file, unless the runs without faults have already executed it.
func (s *session) repetition() []testplan.Plan {
	p := s.replayed.Plan
	if len(p.Faults) == 0 && reflect.DeepEqual(p.Workload, s.base) {
		return nil
	}
	return []testplan.Plan{p}
}

// asFarAs returns a workload up to the last of its steps that another workload has too. It contains at least the first step.
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

// replays reports whether the session repeats a finding about a property.
func (s *session) replays(property finding.Property) bool {
	return s.replayed != nil && strings.HasPrefix(s.replayed.Finding, string(property)+"|")
}
