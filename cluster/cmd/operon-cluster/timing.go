package main

import "time"

// timing holds the durations of this package.
var timing = struct{ followPeriod time.Duration }{
	// followPeriod is how often a followed log is read.
	followPeriod: 200 * time.Millisecond,
}
