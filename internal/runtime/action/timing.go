package action

import "time"

// timing holds the durations of this package.
var timing = struct{ catchUp, defaultDeadline time.Duration }{
	// catchUp is how far a list may lag behind.
	catchUp: 10 * time.Second,

	// defaultDeadline is how late a scheduled Action may be created.
	defaultDeadline: 10 * time.Minute,
}
