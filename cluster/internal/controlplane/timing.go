package controlplane

import "time"

// timing holds the durations of this package.
var timing = struct{ readyPeriod time.Duration }{
	// readyPeriod is how often readiness is checked. The API server sends no event for it.
	readyPeriod: 5 * time.Millisecond,
}
