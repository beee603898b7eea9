package dueling

import "time"

// timing holds the durations of this package.
var timing = struct{ firstPause, lastPause time.Duration }{
	// firstPause delays the first revert that is delayed at all; each further delay is twice as long, up to lastPause.
	firstPause: time.Second,
	lastPause:  time.Minute,
}
