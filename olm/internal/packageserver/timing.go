package packageserver

import "time"

// timing holds the durations of this package.
var timing = struct{ first, again, load time.Duration }{
	// first is when a replica that does not lead looks for catalogs that the leader has read. A replica that leads at once does not.
	first: time.Second,
	// again is how often it looks.
	again: 10 * time.Second,
	// load is the time limit for reading one of them.
	load: 5 * time.Minute,
}
