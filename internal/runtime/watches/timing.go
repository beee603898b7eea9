package watches

import "time"

// timing holds the durations of this package.
var timing = struct{ firstLook, lastLook, lastPatience, syncDeadline time.Duration }{
	// firstLook and lastLook bound the backoff of looking up a kind that is read but missing. Watching CRDs
	// would need a permission that most operators lack.
	firstLook: time.Second,
	lastLook:  10 * time.Second,

	// lastPatience is how long a reconcile waits for a watch to start after it has to stop: longer than the API server
	// usually takes, and less than a reconcile may take to finish.
	lastPatience: 5 * time.Second,

	// syncDeadline limits how long a reconcile waits for the first list of a new watch.
	syncDeadline: 30 * time.Second,
}
