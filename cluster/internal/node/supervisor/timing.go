package supervisor

import "time"

// timing holds the durations of this package.
var timing = struct {
	memorySettle, watchesDeadline, watchesPeriod, headerTimeout, stopGrace time.Duration
}{
	// memorySettle is the time after the start in which the components read everything once.
	memorySettle: 3 * time.Second,
	// watchesDeadline is how long a node waits for inotify instances that other programs use. watchesPeriod is how often it tries:
	// the kernel sends no event.
	watchesDeadline: 30 * time.Second,
	watchesPeriod:   100 * time.Millisecond,
	// headerTimeout is how long containerd may take to send the headers of a request.
	headerTimeout: time.Minute,
	// stopGrace is how long the containers of a retained state may take to end after their stop signal.
	stopGrace: 10 * time.Second,
}
