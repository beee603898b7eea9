package patient

import "time"

const (
	// Session is the budget of requests without which a session cannot continue. API servers restart in less time.
	Session = 30 * time.Second
	// Inside is the budget of requests for whose response the operator has to wait. It is shorter than the timeouts of its leader election.
	Inside = 4 * time.Second
)

// timing holds the durations of this package.
var timing = struct{ firstDelay, lastDelay, longestAttempt time.Duration }{
	// firstDelay and lastDelay bound the backoff between two attempts.
	firstDelay: 50 * time.Millisecond,
	lastDelay:  time.Second,

	// longestAttempt is how long an attempt may take at most: the longest timeout of a webhook, and nearly the API server's own limit for writes.
	longestAttempt: 30 * time.Second,
}
