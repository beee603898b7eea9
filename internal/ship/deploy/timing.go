package deploy

import "time"

// timing holds the durations of this package.
var timing = struct{ lookInterval, grace, secondTry, unproven, undoTimeout time.Duration }{
	// lookInterval is the interval at which pods are read.
	lookInterval: 200 * time.Millisecond,

	// grace is the time for which a problem has to last before it is reported: a registry may fail once, and a pod may start
	// before its Secret exists.
	grace: 5 * time.Second,

	// secondTry is the time for which a problem has to last if Kubernetes tries again: the kubelet's backoff before the second attempt to pull an
	// image is 10 s, and that attempt takes some time, too.
	secondTry: 25 * time.Second,

	// unproven is the time for which a container that ended during the rollout, or has no readiness probe, has to run before
	// the deployment counts as ready: the kubelet's first backoff.
	unproven: 10 * time.Second,

	// undoTimeout limits the removal of the objects of a failed first deployment, like the default timeout of Undeploy.
	undoTimeout: DefaultTimeout,
}
