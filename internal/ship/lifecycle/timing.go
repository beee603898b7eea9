package lifecycle

import "time"

// timing holds the durations of this package.
var timing = struct{ stop, interval time.Duration }{
	// stop is how long the manager may take to stop, and interval how often its pods are looked for.
	stop:     2 * time.Minute,
	interval: 200 * time.Millisecond,
}
