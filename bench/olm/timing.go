package main

import "time"

// timing holds the durations of this benchmark.
var timing = struct{ poll, install, settle, installGoal, namespaceGoal, listGoal time.Duration }{
	// poll is how often a state is read, and install how long an installation may take.
	poll:    10 * time.Millisecond,
	install: 5 * time.Minute,
	// settle is the time after the last installation, in which memory is returned to the system.
	settle: 30 * time.Second,
	// The goals: from a Subscription to an operator that runs, from a namespace to the group that selects it, and for a list of
	// PackageManifests.
	installGoal:   5 * time.Second,
	namespaceGoal: time.Second,
	listGoal:      time.Second,
}
