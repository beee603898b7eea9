package clusterwatch

import "time"

// timing holds the durations of this package.
var timing = struct{ between, usual, ending time.Duration }{
	// between is the interval between two beats.
	between: 250 * time.Millisecond,

	// usual is the duration of a beat on an otherwise idle machine, with some margin.
	usual: 15 * time.Millisecond,

	// ending limits the deletion of the object of the beats.
	ending: 10 * time.Second,
}
