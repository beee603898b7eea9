package main

import "time"

// timing holds the durations of this package.
var timing = struct{ quiet, never time.Duration }{
	// quiet is how long an operator must have sent no request to count as settled.
	quiet: 2 * time.Second,

	// never is the interval at which a resource is read that must not be read again.
	never: 24 * time.Hour,
}
