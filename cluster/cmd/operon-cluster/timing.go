package main

import "time"

// timing holds the durations of this package.
var timing = struct{ followPeriod time.Duration }{
	// followPeriod is how often a log that is followed is read again.
	followPeriod: 200 * time.Millisecond,
}
