package queue

import "time"

// timing holds the durations of this package.
var timing = struct{ stormReported, stormRepeated time.Duration }{
	// stormReported is how long an object's reconciles are delayed before an event reports it, and stormRepeated is the
	// shortest interval between two such events.
	stormReported: 30 * time.Second,
	stormRepeated: 10 * time.Minute,
}
