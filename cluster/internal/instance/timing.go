package instance

import "time"

// timing holds the durations of this package.
var timing = struct {
	startDeadline, lockDeadline, lockPeriod, resetDeadline time.Duration
	pingTimeout, dyingDeadline, stopDeadline, watchPause   time.Duration
	memorySettle, memoryPeriod, headerTimeout              time.Duration
}{
	// startDeadline bounds a start. It takes one to two seconds; a machine that is busy with something else may need
	// much longer.
	startDeadline: 2 * time.Minute,
	// lockDeadline is how long the lock of a cluster that starts may be in the hands of a process that checks whether
	// it runs.
	lockDeadline: 10 * time.Second,
	// lockPeriod is how often a lock that another process holds is tried again. The kernel offers no way to wait for
	// one that also ends with a context.
	lockPeriod: 10 * time.Millisecond,
	// resetDeadline bounds a reset of a cluster in which something never stops writing.
	resetDeadline: 20 * time.Second,
	// pingTimeout is how long a cluster may take to answer a ping.
	pingTimeout: 2 * time.Second,
	// dyingDeadline is how long a cluster that does not answer may take to end, before that is reported.
	dyingDeadline: 30 * time.Second,
	// stopDeadline is how long a cluster may take to close its state before it is killed.
	stopDeadline: 10 * time.Second,
	// watchPause is how long it takes until the node is watched again after the API server ended the watch, as it may
	// at any time.
	watchPause: 50 * time.Millisecond,
	// memorySettle is how long after the start the controllers have read everything once.
	memorySettle: 1500 * time.Millisecond,
	// memoryPeriod is how often memory is given back in a cluster that is used: it takes a tenth of a second of
	// processor time.
	memoryPeriod: 30 * time.Second,
	// headerTimeout is how long a client of the image registry may take to send the head of a request.
	headerTimeout: 10 * time.Second,
}
