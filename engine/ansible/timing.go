package ansible

import "time"

// timing contains the durations of this package.
var timing = struct{ period, run, firstRetry, lastRetry time.Duration }{
	// period is the reconcile period of Operator SDK's Ansible operator.
	period: 10 * time.Hour,
	// run is the default of Engine.RunTimeout.
	run: 30 * time.Minute,
	// A run that failed is repeated after firstRetry, then after twice the time, and so on up to lastRetry.
	firstRetry: 100 * time.Millisecond,
	lastRetry:  5 * time.Minute,
}
