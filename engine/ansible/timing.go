package ansible

import "time"

// timing contains the durations of this package.
var timing = struct{ period, run, firstRetry, lastRetry, changedRetry time.Duration }{
	// period is the reconcile period of Operator SDK's Ansible operator.
	period: 10 * time.Hour,
	// run is the default of Engine.RunTimeout.
	run: 30 * time.Minute,
	// A run that failed is repeated after firstRetry, then after twice the time, and so on up to lastRetry.
	firstRetry: 100 * time.Millisecond,
	lastRetry:  5 * time.Minute,
	// changedRetry is the minimum time between two runs that fail, if an object has changed that the first one read or wrote. It
	// limits the runs if an object changes all the time.
	changedRetry: time.Second,
}
