package registry

import "time"

// timing holds the durations of this package.
var timing = struct{ uploadExpiry, headerTimeout time.Duration }{
	// uploadExpiry is how long an upload may be idle before it counts as abandoned.
	uploadExpiry: time.Hour,
	// headerTimeout is how long a client may take to send the headers of a request.
	headerTimeout: time.Minute,
}
