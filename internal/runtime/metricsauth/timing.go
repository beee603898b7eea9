package metricsauth

import "time"

// timing holds the durations of this package.
var timing = struct{ remembered, trusted, patience time.Duration }{
	// remembered is how long an answer is cached, and therefore how long a revoked permission still has an effect.
	remembered: time.Minute,

	// trusted is how long a client that was permitted is not limited: longer than scrapes are apart.
	trusted: time.Hour,

	// patience is how long the API server may take to answer.
	patience: 10 * time.Second,
}
