package metrics

import "time"

// timing holds the durations of this package.
var timing = struct{ kubeletWindow, kubeletTimeout, simulatedWindow time.Duration }{
	// kubeletWindow is the approximate time between the two samples of a kubelet, which it does not report.
	kubeletWindow: 15 * time.Second,
	// kubeletTimeout is the timeout of a request to a kubelet.
	kubeletTimeout: 20 * time.Second,
	// simulatedWindow is the window of simulated usage, which applies to the time of the request. The autoscaler ignores samples of
	// pods that are younger than a window.
	simulatedWindow: time.Second,
}
