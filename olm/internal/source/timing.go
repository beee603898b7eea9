package source

import "time"

// timing holds the durations of this package.
var timing = struct{ served, invalid time.Duration }{
	// served is how often a server is asked again by default. OLM remembers what it has read from a server for as long.
	served: 5 * time.Minute,
	// invalid is how often a catalog is read again if its interval is not valid, as by OLM.
	invalid: 15 * time.Minute,
}
