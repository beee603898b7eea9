package operontest

import "time"

// timing holds the durations of this package.
var timing = struct{ quiet, interval, starting, firstRetry, lastRetry time.Duration }{
	// quiet is how long nothing may have been written at the end of a step.
	quiet: 300 * time.Millisecond,

	// interval is how often a real cluster is polled.
	interval: 20 * time.Millisecond,

	// starting is how long an operator may take to start; it takes a moment on an idle machine.
	starting: 5 * time.Minute,

	// firstRetry and lastRetry bound the backoff of an error, as in an operator.
	firstRetry: 20 * time.Millisecond,
	lastRetry:  30 * time.Second,
}
