package instance

import "time"

// timing holds the durations of this package.
var timing = struct {
	startDeadline, lockDeadline, lockPeriod, resetDeadline time.Duration
	pingTimeout, dyingDeadline, stopDeadline, watchPause   time.Duration
	memorySettle, memoryPeriod, headerTimeout              time.Duration
	kubeconfigBusy                                         time.Duration
}{
	// startDeadline is the timeout of a start, which takes one to two seconds, but much longer on a busy machine.
	startDeadline: 5 * time.Minute,
	// lockDeadline is how long a starting cluster waits for its lock if a process that checks whether it runs holds the lock.
	lockDeadline: time.Minute,
	// lockPeriod is how often a held lock is tried again. The kernel cannot wait for a lock and a context at the same time.
	lockPeriod: 10 * time.Millisecond,
	// resetDeadline is the timeout of a reset of a cluster in which writes never stop.
	resetDeadline: time.Minute,
	// pingTimeout is the timeout for the response to a ping.
	pingTimeout: 10 * time.Second,
	// dyingDeadline is how long a cluster that does not respond may take to stop before this is reported. It is longer than stopDeadline.
	dyingDeadline: 190 * time.Second,
	// stopDeadline is how long a cluster may take to stop the containers of a retained state, and to close that, before it is killed.
	stopDeadline: 3 * time.Minute,
	// watchPause is the pause before the node is watched again after the API server ended the watch, which it may do at any time.
	watchPause: 50 * time.Millisecond,
	// memorySettle is the time after the start in which the controllers read everything once.
	memorySettle: 1500 * time.Millisecond,
	// memoryPeriod is how often memory is returned in a cluster that is used. This takes a tenth of a second of processor time.
	memoryPeriod: 30 * time.Second,
	// headerTimeout is how long a client of the image registry may take to send the headers of a request.
	headerTimeout: time.Minute,
	// kubeconfigBusy is how long another program may change the user's kubeconfig.
	kubeconfigBusy: 30 * time.Second,
}
