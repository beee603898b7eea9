package prove

import (
	"sync"
	"time"
)

// outage counts runs in a row that could not be completed.
type outage struct {
	mu    sync.Mutex
	inRow int
	last  time.Time
}

// mostInRow is the number of runs in a row that could not be completed after which the session ends: the cluster is lost, or the operator cannot
// be started any more.
const mostInRow = 3

// ends counts a run that began at a time and could not be completed, and reports whether others may still be completed. Runs at the same time
// count once, because they have the same cause.
func (o *outage) ends(began time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if began.After(o.last) {
		o.inRow++
		o.last = time.Now()
	}
	return o.inRow < mostInRow
}

// over forgets earlier runs, because one was completed.
func (o *outage) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inRow = 0
}
