package reset

import "time"

// timing holds the durations of this package.
var timing = struct{ turn, firstDeadline, releasePeriod time.Duration }{
	// turn is how long a controller that is at work takes at most for a step, as it answers a deletion within a few
	// milliseconds.
	turn: 5 * time.Millisecond,

	// firstDeadline is how long writes wait at most for the controllers to settle. It takes a
	// second; a machine that is busy with something else may need much longer.
	firstDeadline: time.Minute,

	// releasePeriod is how often it is looked whether the aggregator has let go of a server, of which it sends no event.
	releasePeriod: 20 * time.Millisecond,
}
