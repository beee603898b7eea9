package providers

import "time"

// timing holds the durations of this package.
var timing = struct {
	firstBackoff, lastBackoff, maxQueue, idle, deleteAgain, firstWait, forever time.Duration
}{
	// firstBackoff and lastBackoff bound the backoff for a system that does not respond.
	firstBackoff: time.Second,
	lastBackoff:  2 * time.Minute,

	// maxQueue is how long a call waits for its turn. If it would be longer, the object is requeued.
	maxQueue: time.Second,

	// idle is how long a system without calls is remembered.
	idle: 10 * time.Minute,

	// deleteAgain is when a deletion without effect is requested again.
	deleteAgain: 5 * time.Minute,

	// firstWait is the first interval at which a resource is observed that becomes ready by itself. It doubles each time.
	firstWait: time.Second,

	// forever is when a resource is observed that must not be observed again.
	forever: 100 * 365 * 24 * time.Hour,
}
