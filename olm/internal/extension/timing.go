package extension

import "time"

// timing holds the durations of this package.
var timing = struct{ again, cleanup time.Duration }{
	// again is how long to wait until something is checked again that the manager does not watch.
	again: 10 * time.Second,
	// cleanup is how long to wait until a deletion is checked again.
	cleanup: 2 * time.Second,
}
