package metrics

import "time"

// timing holds the durations of this package.
var timing = struct{ kubeletWindow, kubeletTimeout, simulatedWindow time.Duration }{
	// kubeletWindow is about how far the two samples of a kubelet lie apart, which it does not report.
	kubeletWindow: 15 * time.Second,
	// kubeletTimeout is how long a kubelet may take to answer.
	kubeletTimeout: 5 * time.Second,
	// simulatedWindow is the window of simulated figures, which hold for the moment that they are asked for. The
	// autoscaler passes over what is younger than a window.
	simulatedWindow: time.Second,
}
