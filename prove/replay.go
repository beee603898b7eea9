package prove

import (
	"context"

	"github.com/operon-framework/operon/prove/plan"
	"github.com/operon-framework/operon/prove/report"
)

// Replay carries out one plan, after the runs without faults that it is compared with, and returns
// what it shows.
func Replay(ctx context.Context, options Options, p plan.Plan) (*report.Report, error) {
	return run(ctx, options, func(*session) []plan.Plan { return []plan.Plan{p} })
}
