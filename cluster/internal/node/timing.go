package node

import "time"

// timing holds the durations of this package.
var timing = struct {
	answerTimeout, endDeadline, emptyPeriod, dialTimeout time.Duration
	acceptPause, headerTimeout, joinSettle, turnDeadline time.Duration
	turnPeriod                                           time.Duration
}{
	// answerTimeout is how long a name server may take before the next one is asked, too.
	answerTimeout: time.Second,
	// endDeadline bounds how long the processes of a node may take to end when they are killed.
	endDeadline: 20 * time.Second,
	// emptyPeriod is how often it is looked whether the processes of a control group are gone: the kernel sends an
	// event for version 2 only.
	emptyPeriod: 5 * time.Millisecond,
	// dialTimeout is how long the other side of a relay may take to answer.
	dialTimeout: 30 * time.Second,
	// acceptPause is how long no connection is accepted where the process has run out of files.
	acceptPause: 100 * time.Millisecond,
	// headerTimeout is how long the API server may take to send where it wants to be connected.
	headerTimeout: 10 * time.Second,
	// joinSettle is how long a write to a side that has ended may last before that side is believed to have ended in
	// order: one to a side that broke returns at once.
	joinSettle: time.Second,
	// turnDeadline is how long a node waits for its turn at most, because the one whose turn it is may hang, and
	// turnPeriod is how often it looks.
	turnDeadline: 30 * time.Second,
	turnPeriod:   10 * time.Millisecond,
}
