package projecttest

import "time"

// DefaultTimeout is the maximum duration of a step.
const DefaultTimeout = 10 * time.Minute

// timing holds the durations of this package.
var timing = struct{ interval, collected time.Duration }{
	// interval is the interval between two looks at an object.
	interval: 50 * time.Millisecond,

	// collected is the time in which garbage collection deletes the objects of a deleted custom resource.
	collected: time.Minute,
}
