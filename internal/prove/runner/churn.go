package runner

import (
	"fmt"
	"net/http"
	"time"

	"github.com/operon-framework/operon/internal/prove/quiesce"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// churnTimes is the number of times that the same request must be sent within timing.churnFor for an operator to count as one
// that never settles.
const churnTimes = 20

// churns returns the request that an operator repeats successfully while nothing happens except for its own changes, or "" if
// there is none. An operator that reports the progress of its pods writes often, too, but then the pods change.
func (w *world) churns(began time.Time) string {
	slow := quiesce.Mild(w.Witness.Slowness()) // timers are not slower on a slow cluster
	activity, _ := w.proxy.Activity()
	if time.Since(began) < scaled(timing.churnAfter, slow) || activity.Disturbed || w.life.busy() != "" {
		return ""
	}
	since := time.Now().Add(-scaled(timing.churnFor, slow))
	times, written, most := map[string]int{}, map[string]bool{}, requestlog.Request{}
	for _, r := range w.proxy.Record().Requests() {
		if !r.Counts() || r.At.Before(since) || r.Stale || r.Status >= http.StatusMultipleChoices || w.rhythm.Has(&r) {
			continue
		}
		what := r.Verb + " " + r.Resource + " " + r.Subresource
		if r.Resource != events.Resource {
			what += " " + r.Name
		}
		if r.IsWrite() {
			written[r.Resource+"/"+r.Name] = true
		}
		if times[what]++; times[what] >= churnTimes && (most.Verb == "" || r.Effect == requestlog.Changed || !most.IsWrite()) {
			most = r
		}
	}
	if most.Verb == "" {
		return ""
	}
	for _, change := range w.scene.Changes(0) {
		if !change.At.Before(since) && !written[change.Resource+"/"+change.Name] {
			return ""
		}
	}
	does := "reading"
	if most.IsWrite() {
		does = "writing"
	}
	return fmt.Sprintf("the operator keeps %s, and nothing else happens: %s", does, &most)
}
