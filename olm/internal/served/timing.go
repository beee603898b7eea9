package served

import "time"

// timing holds the durations of this package.
var timing = struct{ read, idle time.Duration }{
	// read is how long it may take to read a catalog, and idle how long a server may take for an answer or the next part of it.
	read: 5 * time.Minute,
	idle: 30 * time.Second,
}
