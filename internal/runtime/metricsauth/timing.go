package metricsauth

import "time"

// timing holds the durations of this package.
var timing = struct{ remembered, patience time.Duration }{
	// remembered is how long an answer is cached, and therefore how long a revoked permission still has an effect.
	remembered: time.Minute,

	// patience is how long the API server may take to answer.
	patience: 10 * time.Second,
}
