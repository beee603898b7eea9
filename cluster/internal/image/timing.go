package image

import "time"

// timing holds the durations of this package.
var timing = struct{ leaseTime, knownDeadline, knownPeriod time.Duration }{
	// leaseTime is how long contents that a killed Load has written stay in the store if no other Load runs.
	leaseTime: time.Hour,
	// knownDeadline is the timeout for events, which take milliseconds. knownPeriod is how often the kubelet's part of containerd
	// is queried for their effect.
	knownDeadline: time.Minute,
	knownPeriod:   5 * time.Millisecond,
}
