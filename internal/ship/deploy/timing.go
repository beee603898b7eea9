package deploy

import "time"

// timing holds the durations of this package.
var timing = struct{ lookInterval, grace, afterRestart, undoTimeout time.Duration }{
	// lookInterval is how often pods are read.
	lookInterval: 200 * time.Millisecond,

	// grace is how long a problem has to last before it is reported: a registry may fail once, and a pod may start before its
	// Secret exists.
	grace: 5 * time.Second,

	// afterRestart is how long a container that ended during the rollout has to run before the deployment counts as ready:
	// as long as the kubelet's first backoff.
	afterRestart: 10 * time.Second,

	// undoTimeout limits the removal of what a failed first deployment created, as Undeploy is limited.
	undoTimeout: DefaultTimeout,
}
