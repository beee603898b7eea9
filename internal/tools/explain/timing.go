package explain

import "time"

// timing holds the durations of this package.
var timing = struct{ lookTime, lookEvery time.Duration }{
	// lookTime limits how long reading the children of an object may take, and lookEvery is how often it is checked for
	// completion.
	lookTime:  10 * time.Second,
	lookEvery: 10 * time.Millisecond,
}
