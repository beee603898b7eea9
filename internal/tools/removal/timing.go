package removal

import "time"

// timing holds the durations of this package.
var timing = struct{ interval, reportInterval, resumeInterval, refusedFor time.Duration }{
	// interval is the interval of checks whether objects still exist.
	interval: 50 * time.Millisecond,

	// reportInterval is the interval of reports of the remaining objects.
	reportInterval: 5 * time.Second,

	// resumeInterval is the interval in which the deletion of a CustomResourceDefinition is resumed if it stops.
	resumeInterval: 5 * time.Second,

	// refusedFor is the time for which a rejected deletion that Retry accepts is repeated.
	refusedFor: time.Minute,
}
