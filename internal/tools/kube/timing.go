package kube

import "time"

// timing holds the durations of this package.
var timing = struct{ servedTimeout, servedInterval time.Duration }{
	// servedTimeout limits the wait until a CRD is served, and servedInterval is the interval between checks.
	servedTimeout:  2 * time.Minute,
	servedInterval: 10 * time.Millisecond,
}
