package up

import "time"

// timing holds the durations of this package.
var timing = struct {
	settle, unattended, frame, refresh, scrapeEvery, rateOver, silent, busy          time.Duration
	unlisted, stopGrace, firstPause, lastPause, steady, answerTimeout, tokenLifetime time.Duration
	tokenRetry, tokenLook, behind, childless, unregister, giveUp, removal, scrape    time.Duration
	claim, claimRenewal, claimRetry, claimExpired, claimUnanswered                   time.Duration
}{
	// settle is the quiet time that ends a burst of file changes: an editor writes a file in several steps, and a checkout
	// writes many files.
	settle: 100 * time.Millisecond,

	// unattended is the time for which an object may keep its finalizers before its operator is started.
	unattended: 300 * time.Millisecond,

	// frame is the minimum time between two updates of the display, and refresh the maximum, because ages change.
	frame:   100 * time.Millisecond,
	refresh: time.Second,

	// scrapeEvery is the interval for reading the operator's metrics, and rateOver is the window of a rate.
	scrapeEvery: 250 * time.Millisecond,
	rateOver:    5 * time.Second,

	// scrape is the timeout for reading the operator's metrics.
	scrape: 10 * time.Second,

	// silent is the time for which an operator without metrics must have run before a ready sample counts: the sample may be
	// ready from an earlier run.
	silent: 2 * time.Second,

	// busy is the same for an operator that has metrics but takes long to start.
	busy: 10 * time.Second,

	// unlisted is the time after which ready samples are reported even if some kinds cannot be listed yet.
	unlisted: 10 * time.Second,

	// behind is how far what is shown of children may lag behind what their operator has seen.
	behind: 5 * time.Second,

	// childless is the same for a sample without children: each kind is watched by itself, and that of the children may lag behind that of
	// the sample. It is shorter because there are operators that create no children.
	childless: 2 * time.Second,

	// stopGrace is the maximum time for the operator to shut down: the grace period that Pods have by default, for which operators are written.
	stopGrace: 30 * time.Second,

	// firstPause and lastPause are the limits of the backoff before an operator that exited is restarted. The backoff is reset
	// after the operator has run for the time steady.
	firstPause: time.Second,
	lastPause:  30 * time.Second,
	steady:     time.Minute,

	// unregister is the maximum time to remove what makes API servers call an operator that was stopped.
	unregister: time.Minute,

	// giveUp is the maximum time to give up the Lease of a project: its cluster may not respond any more.
	giveUp: 10 * time.Second,

	// removal is the maximum time to remove what a test has installed.
	removal: 5 * time.Minute,

	// answerTimeout is the timeout for an answer of a cluster that was not started by this command.
	answerTimeout: 5 * time.Second,

	// tokenLifetime is the requested lifetime of a token; the API server may issue a shorter one. tokenRetry is the pause
	// after a failed request, and tokenLook how long a timer runs at most before the time is read again: timers stand still while the machine is
	// suspended.
	tokenLifetime: time.Hour,
	tokenRetry:    10 * time.Second,
	tokenLook:     10 * time.Second,

	// claim is the duration of the Lease of a project, claimRenewal the time for which a renewal is tried, and claimRetry the time between two
	// attempts: client-go's defaults. claimExpired is how long it takes at most to get the Lease of a process that was killed: client-go varies the
	// time between attempts, and the cluster may be slow. claimUnanswered is how long the API server may take to answer if nobody else has the Lease.
	claim:           15 * time.Second,
	claimRenewal:    10 * time.Second,
	claimRetry:      2 * time.Second,
	claimExpired:    30 * time.Second,
	claimUnanswered: 2 * time.Minute,
}
