package helm

import "time"

// timing holds the durations of this package.
var timing = struct{ hidden time.Duration }{
	// hidden is how long a cache may lack release Secrets that were written. It is the delay of a watch.
	hidden: 10 * time.Second,
}
