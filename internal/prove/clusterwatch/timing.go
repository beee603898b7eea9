package clusterwatch

import "time"

// timing holds the durations of this package.
var timing = struct{ between, usual, ending, steady, removed time.Duration }{
	// between is the interval between two beats.
	between: 250 * time.Millisecond,

	// usual is the duration of a beat on an otherwise idle machine, with some margin.
	usual: 15 * time.Millisecond,

	// steady is how long a watch has to last for its end to be a new interruption.
	steady: 10 * time.Second,

	// removed is how often it is checked whether a kind that does not exist is served again.
	removed: 5 * time.Second,

	// ending limits the deletion of the object of the beats.
	ending: 10 * time.Second,
}
