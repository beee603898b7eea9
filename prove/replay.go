package prove

import (
	"context"
	"reflect"
	"strings"

	"github.com/operon-framework/operon/prove/finding"
	"github.com/operon-framework/operon/prove/plan"
	"github.com/operon-framework/operon/prove/report"
)

// Replay carries out the plan of a file, after the runs without faults that it is compared with, and
// returns what it shows. What shows without any fault needs no more than those runs. Where the file names
// a finding and the plan does not show it, the plan is tried three times, with more patience, as a race is not won
// by the same one each time; the report has a run for each.
//
// Guarantees: what is found is neither confirmed by another run nor made smaller: it was.
func Replay(ctx context.Context, options Options, file *File) (*report.Report, error) {
	return run(ctx, options, func(s *session) []plan.Plan {
		s.replayed = file
		if len(file.Plan.Faults) == 0 && reflect.DeepEqual(file.Plan.Workload, s.base) {
			return nil
		}
		return []plan.Plan{file.Plan}
	})
}

// replays tells whether the session repeats a finding about a property.
func (s *session) replays(property finding.Property) bool {
	return s.replayed != nil && strings.HasPrefix(s.replayed.Finding, string(property)+"|")
}
