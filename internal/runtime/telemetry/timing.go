package telemetry

import "time"

// timing holds the durations of this package.
var timing = struct{ firstPause, lastPause, defaultTimeout time.Duration }{
	// firstPause and lastPause bound the backoff between attempts, unless the collector states a time.
	firstPause: 500 * time.Millisecond,
	lastPause:  5 * time.Second,

	// defaultTimeout is how long an export may take, as the OpenTelemetry specification defines.
	defaultTimeout: 10 * time.Second,
}
