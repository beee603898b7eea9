package image

import "time"

// timing holds the durations of this package.
var timing = struct{ leaseTime, knownDeadline, knownPeriod time.Duration }{
	// leaseTime is how long what a killed Load has put into the store stays there, if no other one comes.
	leaseTime: time.Hour,
	// knownDeadline bounds the wait for events, which take milliseconds, and knownPeriod is how often the kubelet is
	// asked for what they brought.
	knownDeadline: time.Minute,
	knownPeriod:   5 * time.Millisecond,
}
