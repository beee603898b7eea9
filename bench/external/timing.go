package main

import "time"

// timing holds the durations of this package.
var timing = struct{ quiet, never time.Duration }{
	// quiet is how long an operator must send no request to count as settled.
	quiet: 2 * time.Second,

	// never is the polling interval of a resource that must not be polled.
	never: 24 * time.Hour,
}
