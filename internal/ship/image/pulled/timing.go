package pulled

import "time"

// timing holds the durations of this package.
var timing = struct{ fetch, answer time.Duration }{
	// fetch is how long it may take to fetch an image, and answer how long a registry may take for the beginning of an answer.
	fetch:  5 * time.Minute,
	answer: 30 * time.Second,
}
