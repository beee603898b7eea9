package up

import "time"

// timing holds the durations of this package.
var timing = struct {
	settle, unattended, frame, refresh, scrapeEvery, rateOver, silent, busy          time.Duration
	unlisted, stopGrace, firstPause, lastPause, steady, answerTimeout, tokenLifetime time.Duration
	tokenRetry                                                                       time.Duration
}{
	// settle is the quiet time that ends a burst of file changes: an editor writes a file in several steps, and a checkout
	// writes many files.
	settle: 100 * time.Millisecond,

	// unattended is how long an object may keep its finalizers before its controller must be running.
	unattended: 300 * time.Millisecond,

	// frame is the shortest time between two pictures, and refresh the longest, because ages change.
	frame:   100 * time.Millisecond,
	refresh: time.Second,

	// scrapeEvery is how often the operator's metrics are read, and rateOver is the window of a rate.
	scrapeEvery: 250 * time.Millisecond,
	rateOver:    5 * time.Second,

	// silent is how long an operator without metrics must have run before a ready sample counts: it may be ready
	// from an earlier run.
	silent: 2 * time.Second,

	// busy is the same for an operator that has metrics but takes long to start.
	busy: 10 * time.Second,

	// unlisted is how long ready objects are not shown while some kinds cannot be listed yet.
	unlisted: 10 * time.Second,

	// stopGrace is how long the operator may take to shut down.
	stopGrace: 10 * time.Second,

	// firstPause and lastPause bound the backoff before an operator that exited is restarted. The backoff is reset when
	// the operator has run for the time of steady.
	firstPause: time.Second,
	lastPause:  30 * time.Second,
	steady:     time.Minute,

	// answerTimeout is how long a cluster that was not started by this command may take to answer.
	answerTimeout: 5 * time.Second,

	// tokenLifetime is the requested lifetime of a token; the API server may issue a shorter one. tokenRetry is the pause
	// after a failed request.
	tokenLifetime: time.Hour,
	tokenRetry:    10 * time.Second,
}
