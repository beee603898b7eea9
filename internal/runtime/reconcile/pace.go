package reconcile

import (
	"cmp"
	"context"
	"strings"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/trigger"
)

// stepPace is the name of the step, whose stop is recorded as a delay.
const stepPace = "pace"

// pace stops the reconcile of an object that is reconciled too often, until the rate limit permits it again. Changes
// in the meantime are not lost: that reconcile reads all of them.
func (r *Reconciler[T]) pace(_ context.Context, p *pass[T]) (outcome.Outcome, error) {
	left, storm := p.known.pace.Take(r.Rate, r.Clock.Now())
	if left > 0 {
		return outcome.Stop(left), nil
	}
	if storm {
		p.entry.Events.Warning("Delayed", "Reconcile", "rate limited: reconciled too often (latest trigger: %s); until that ends, at most once every %s",
			whatStorms(p.entry.Causes), r.Rate.Every)
	}
	return outcome.Done(), nil
}

// whatStorms returns the triggers of the reconcile, other than an earlier delay.
func whatStorms(causes []trigger.Cause) string {
	var storm trigger.Gathered
	for _, c := range causes {
		if c.Kind != trigger.Delayed {
			storm.Add(c)
		}
	}
	return cmp.Or(strings.Join(storm.Summary(), ", "), "unknown")
}
