package prove

import (
	"slices"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

// Correct operators survive all failures of their children: pods, nodes and volumes.
func TestChildrenFail(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	for name, failures := range map[string]int{"ok-app": 4, "ok-store": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := slices.IndexFunc(operators.All(), func(o operators.Operator) bool { return o.Name == name })
			options, err := galleryTest(operators.All()[at]).options(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			testCluster.join(t, &options)
			options.Budget = 10 * time.Minute // all plans are executed, however long they take
			found, err := run(t.Context(), options, nil, func(s *session) []testplan.Plan {
				return plain(workload.Failing(s.base, s.children()))
			})
			if err != nil {
				t.Fatal(err)
			}
			if found.Plans.Run != failures || found.Failures() > 0 {
				t.Errorf("%d of %d plans, and there is found:\n%s", found.Plans.Run, failures, textOf(t, found))
			}
			for _, r := range found.Runs {
				t.Logf("%5.1fs %s %s", r.Took.Seconds(), r.Verdict, r.Plan)
				if r.Verdict != report.Passed {
					t.Errorf("%s: %s", r.Plan, r.Verdict)
				}
			}
		})
	}
}
