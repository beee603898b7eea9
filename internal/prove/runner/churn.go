package runner

import (
	"fmt"
	"time"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// churnTimes is how often the same must be written within timing.churnFor for an operator to count as one that never
// settles.
const churnTimes = 20

// churns says what an operator writes again and again, and changes by it, while nothing happens but
// what it does itself; "" where that is not so. Who reports how far its pods are writes often, too,
// but then there are pods that change.
func (w *world) churns(began time.Time) string {
	slow := w.Witness.Slowness()
	if time.Since(began) < scaled(timing.churnAfter, slow) {
		return ""
	}
	since := time.Now().Add(-scaled(timing.churnFor, slow))
	times, written, most := map[string]int{}, map[string]bool{}, ""
	for _, r := range w.proxy.Record().Requests() { // a lease is renewed all the time
		if !r.IsWrite() || r.Effect != requestlog.Changed || r.At.Before(since) || r.IsLease() || r.Stale {
			continue
		}
		what := r.Verb + " " + r.Resource + " " + r.Subresource
		if r.Resource != events.Resource {
			what += " " + r.Name
		}
		written[r.Resource+"/"+r.Name] = true
		if times[what]++; times[what] >= churnTimes {
			most = r.String()
		}
	}
	if most == "" {
		return ""
	}
	for _, change := range w.scene.Changes(0) {
		if !change.At.Before(since) && !written[change.Resource+"/"+change.Name] {
			return ""
		}
	}
	return fmt.Sprintf("the operator keeps writing, and nothing else happens: %s", most)
}
