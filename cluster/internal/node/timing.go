package node

import "time"

// timing holds the durations of this package.
var timing = struct {
	answerTimeout, endDeadline, emptyPeriod, dialTimeout time.Duration
	acceptPause, headerTimeout, joinSettle, turnDeadline time.Duration
	turnPeriod, stopDeadline                             time.Duration
}{
	// answerTimeout is how long a DNS server may take before the next one is queried, too.
	answerTimeout: time.Second,
	// endDeadline is how long the processes of a node may take to end when they are killed. It is longer than stopDeadline.
	endDeadline: 90 * time.Second,
	// stopDeadline is how long a node may take to stop its containers: stopGrace of package supervisor, and before that the end of the
	// kubelet and two lists, which take a tenth of a second, but many seconds on a busy machine. Containers that are killed may lose data.
	stopDeadline: time.Minute,
	// emptyPeriod is how often it is checked whether the processes of a control group have ended: the kernel sends an event only
	// for version 2.
	emptyPeriod: 5 * time.Millisecond,
	// dialTimeout is the timeout for connecting to the destination of a relay.
	dialTimeout: 30 * time.Second,
	// acceptPause is how long no connection is accepted if the process has run out of file descriptors.
	acceptPause: 100 * time.Millisecond,
	// headerTimeout is how long the API server may take to send the address to connect to.
	headerTimeout: time.Minute,
	// joinSettle is how long a pending write to a side whose data has ended may take until the end counts as ordinary: a write to a
	// broken side returns at once.
	joinSettle: 5 * time.Second,
	// turnDeadline is how long a node waits for its turn at most, because the node whose turn it is may hang. turnPeriod is how
	// often it checks.
	turnDeadline: 30 * time.Second,
	turnPeriod:   10 * time.Millisecond,
}
