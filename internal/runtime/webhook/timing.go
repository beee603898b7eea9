package webhook

import "time"

// timing holds the durations of this package.
var timing = struct {
	bodyTimeout, defaultTimeout, headerTimeout, drain, firstPause, lastPause time.Duration
	standBy, repairEvery, lookEvery, forLong, never, silence                 time.Duration
}{
	// bodyTimeout is how long a client may take to send a body. API servers wait at most 30 s.
	bodyTimeout: 35 * time.Second,

	// defaultTimeout is the default timeout of API servers, too.
	defaultTimeout: 10 * time.Second,

	// headerTimeout is longer than the 90 s for which API servers keep an unused connection. Otherwise, a request
	// that is sent while this side closes the connection is lost.
	headerTimeout: 2 * time.Minute,

	// drain is how long running requests may take at shutdown.
	drain: 10 * time.Second,

	// firstPause and lastPause bound the backoff after a failure.
	firstPause: 100 * time.Millisecond,
	lastPause:  30 * time.Second,

	// standBy is how often it is checked whether the process on this machine that serves instead of this one still exists.
	standBy: time.Second,

	// repairEvery is how often registrations that another client changes are repaired, after some repairs without delay.
	repairEvery: 30 * time.Second,

	// lookEvery is how often the files of certificates are read. That costs no request, and files are renewed days before
	// they expire. It is also how often it is checked whether the instance that converts objects still exists.
	lookEvery: 10 * time.Second,

	// silence is how long the Service of the instance that converts objects may refuse connections: a restart takes less.
	silence: time.Minute,

	// forLong is the longest time of a timer, and never is a time that does not come.
	forLong: 10 * time.Minute,
	never:   365 * 24 * time.Hour,
}
