package catalogs

import "time"

// timing holds the durations of this package.
var timing = struct{ retry time.Duration }{
	// retry is how long to wait after a failure, and the shortest period in which an image is fetched again.
	retry: 10 * time.Second,
}
