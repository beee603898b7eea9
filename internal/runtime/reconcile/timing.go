package reconcile

import "time"

// timing holds the durations of this package.
var timing = struct {
	firstLook, lookAgain, slowRetry, supersededRetry, messagePeriod, claimedEvery time.Duration
	unknownFor, removedFor, finishing                                             time.Duration
}{
	// firstLook is when an object is reconciled again that was written during its reconcile.
	firstLook: 20 * time.Millisecond,

	// lookAgain is when an object is reconciled again after the deletion of a child whose end no watch may ever report.
	lookAgain: time.Second,

	// slowRetry is the interval between retries of a failure that only a person can fix, in case it is fixed in a place
	// that sends no event.
	slowRetry: 30 * time.Second,

	// supersededRetry is when an object is reconciled again that another replica reconciles.
	supersededRetry: 200 * time.Millisecond,

	// messagePeriod delays a status write that changes only the message of a condition: while children become ready, the
	// message changes several times within a moment, and each change would be a write.
	messagePeriod: time.Second,

	// claimedEvery is how often unknown kinds in the annotations of objects are looked up at most, and unknownFor is how
	// long an unknown kind is not looked up again.
	claimedEvery: time.Minute,
	unknownFor:   10 * time.Minute,

	// removedFor is how long a kind that was removed is not looked for again.
	removedFor: 30 * time.Second,

	// finishing is how long a running reconcile may continue after the operator has to stop. It is less than the 30 s for
	// which controller-runtime waits for its workers.
	finishing: 20 * time.Second,
}
