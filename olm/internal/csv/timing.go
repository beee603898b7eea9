package csv

import "time"

// timing holds the durations of this package.
var timing = struct{ againFirst, againLast time.Duration }{
	// againFirst and againLast are the shortest and the longest time after which the API server is asked again for what is missing.
	againFirst: time.Second,
	againLast:  5 * time.Minute,
}
