package ansible

import "time"

// timing contains the durations of this package.
var timing = struct{ period, run, firstRetry, lastRetry, changedRetry, changedEvery, sweep, ending time.Duration }{
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
	// changedEvery is the time between two runs of an object that changes of other objects cause, after the first ones.
	changedEvery: 30 * time.Second,
	// sweep is how often deleted objects are forgotten. It is longer than lastRetry, so that the run of an existing object began
	// again by then if it failed.
	sweep: 10 * time.Minute,
	// ending is the time in which runs end that are told to.
	ending: 15 * time.Second,
}
