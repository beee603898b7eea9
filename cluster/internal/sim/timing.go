package sim

import "time"

// timing holds the durations of this package.
var timing = struct {
	headerTimeout, heldClaimPeriod, crashBackoffMin, crashBackoffMax time.Duration
	retryMin, retryMax                                               time.Duration
}{
	// headerTimeout is how long a client may take to send the headers of a request.
	headerTimeout: time.Minute,
	// heldClaimPeriod is how often it is checked whether a claim must still remain unbound.
	heldClaimPeriod: 200 * time.Millisecond,
	// crashBackoffMin and crashBackoffMax bound the restart delay of a crashing container, as in the kubelet.
	crashBackoffMin: 10 * time.Second,
	crashBackoffMax: 5 * time.Minute,
	// retryMin and retryMax bound the retry delay of a failed request. The delay doubles each time.
	retryMin: 20 * time.Millisecond,
	retryMax: 30 * time.Second,
}
