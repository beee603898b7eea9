package removal

import "time"

// timing holds the durations of this package.
var timing = struct{ interval, reportInterval, refusedFor time.Duration }{
	// interval is how often objects are read to check whether they are gone.
	interval: 50 * time.Millisecond,

	// reportInterval is how often the remaining objects are reported.
	reportInterval: 5 * time.Second,

	// refusedFor is how long a rejected deletion that Retry accepts is repeated.
	refusedFor: 20 * time.Second,
}
