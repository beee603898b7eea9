package controlplane

import "time"

// timing holds the durations of this package.
var timing = struct{ readyPeriod time.Duration }{
	// readyPeriod is how often readiness is asked for. The API server has no event for it.
	readyPeriod: 5 * time.Millisecond,
}
