package reset

import "time"

// timing holds the durations of this package.
var timing = struct{ turn, firstDeadline, releasePeriod time.Duration }{
	// turn is the maximum time that an active controller needs for a step: it reacts to a deletion within a few milliseconds.
	turn: 5 * time.Millisecond,

	// firstDeadline is how long writes wait at most until the controllers have settled. This takes a second, but much longer on a
	// busy machine.
	firstDeadline: time.Minute,

	// releasePeriod is how often it is checked whether the aggregator has released a server. There is no event for that.
	releasePeriod: 20 * time.Millisecond,
}
