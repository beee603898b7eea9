//go:build slow

package slow

import "time"

// timing holds the durations of this package.
var timing = struct{ start, lotPeriod, watchStall, requestStall time.Duration }{
	// start is how long an API server is not delayed after its start.
	start: 3 * time.Second,
	// lotPeriod is how often a random draw decides for each watch whether it stalls. watchStall is the maximum duration
	// of a stall.
	lotPeriod:  700 * time.Millisecond,
	watchStall: 1500 * time.Millisecond,
	// requestStall is how long a request waits at most.
	requestStall: 300 * time.Millisecond,
}
