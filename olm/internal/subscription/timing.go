package subscription

import "time"

// timing holds the durations of this package.
var timing = struct{ keepResults time.Duration }{
	// keepResults is how long the result for a namespace is kept that no Subscription asks for.
	keepResults: time.Hour,
}
