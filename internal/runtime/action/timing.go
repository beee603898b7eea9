package action

import "time"

// timing holds the durations of this package.
var timing = struct{ catchUp, lookAgain, defaultDeadline, minDeadline, ahead time.Duration }{
	// catchUp is how far a list may lag behind.
	catchUp: 10 * time.Second,

	// lookAgain is how often an Action checks whether a deleted one still runs.
	lookAgain: time.Second,

	// defaultDeadline is how late a scheduled Action may be created.
	defaultDeadline: 10 * time.Minute,

	// minDeadline is the shortest deadline. A reconcile may begin some seconds after an Action is due.
	minDeadline: 10 * time.Second,

	// ahead is how far the clock of another replica may be ahead. Actions of a later time are ignored: a clock was wrong, and nothing would be
	// scheduled until that time.
	ahead: time.Hour,
}
