package migrate

import "time"

// timing holds the durations of this package.
var timing = struct{ again, firstRetry, lastRetry time.Duration }{
	// again is how often the CRD is read, in case it is changed while the operator runs.
	again: 10 * time.Minute,

	// firstRetry and lastRetry bound the backoff of a failed migration.
	firstRetry: time.Second,
	lastRetry:  time.Minute,
}
