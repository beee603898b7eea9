package supervisor

import "time"

// timing holds the durations of this package.
var timing = struct{ memorySettle, watchesDeadline, watchesPeriod, headerTimeout time.Duration }{
	// memorySettle is how long after the start the components have read everything once.
	memorySettle: 3 * time.Second,
	// watchesDeadline is how long a node waits for inotify instances that others have, and watchesPeriod is how often
	// it asks: the kernel sends no event.
	watchesDeadline: 30 * time.Second,
	watchesPeriod:   100 * time.Millisecond,
	// headerTimeout is how long containerd may take to send the head of a request.
	headerTimeout: 10 * time.Second,
}
