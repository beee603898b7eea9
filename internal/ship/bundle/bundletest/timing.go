package bundletest

import "time"

// DefaultIdle is the time without any progress after which a stage fails.
const DefaultIdle = 2 * time.Minute

// timing holds the durations of this package.
var timing = struct{ interval, settled, firstRequest, stopGrace, unused, down time.Duration }{
	// interval is the interval between two looks at the cluster.
	interval: 200 * time.Millisecond,

	// settled is the time without a change after which an object counts as it is, although it does not report whether it is ready, and after
	// which an operator that was upgraded has looked at its objects.
	settled: 10 * time.Second,

	// firstRequest is how long an operator may take to send its first request, but no longer than half of the idle time.
	firstRequest: time.Minute,

	// stopGrace is the time that the operator has to end.
	stopGrace: 5 * time.Second,

	// unused is the time after which a cluster stops by itself, because this process was killed.
	unused: 15 * time.Minute,

	// down limits the end of the cluster, which takes almost five minutes at most.
	down: 5 * time.Minute,
}
