package main

import "time"

// timing contains the durations of this program.
var timing = struct{ period, helmPeriod, settled, patience, tick time.Duration }{
	// period is the default reconcile period of Operator SDK's Ansible operator, and helmPeriod that of its Helm operator.
	period:     10 * time.Hour,
	helmPeriod: time.Minute,

	// settled is how long an operator must use next to no processor time.
	settled: 3 * time.Second,
	// patience is how long an operator that does not settle is waited for.
	patience: 30 * time.Second,

	// tick is the unit of times in /proc/PID/stat.
	tick: time.Second / 100,
}
