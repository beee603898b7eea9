package sim

import "time"

// timing holds the durations of this package.
var timing = struct {
	headerTimeout, heldClaimPeriod, crashBackoffMin, crashBackoffMax time.Duration
	retryMin, retryMax                                               time.Duration
}{
	// headerTimeout is how long a client may take to send the head of a request.
	headerTimeout: 10 * time.Second,
	// heldClaimPeriod is how often it is looked whether a claim is still to get no volume.
	heldClaimPeriod: 200 * time.Millisecond,
	// crashBackoffMin and crashBackoffMax bound the delay of a restart of a crashing container, as with the kubelet.
	crashBackoffMin: 10 * time.Second,
	crashBackoffMax: 5 * time.Minute,
	// retryMin and retryMax bound the delay of a retry of a failed request, which doubles.
	retryMin: 20 * time.Millisecond,
	retryMax: 30 * time.Second,
}
