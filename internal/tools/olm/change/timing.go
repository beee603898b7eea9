package change

import "time"

// DefaultTimeout is how long an upgrade or a removal may take.
const DefaultTimeout = 5 * time.Minute

// timing holds the durations of this package.
var timing = struct{ interval time.Duration }{
	// interval is how often an upgrade is looked at.
	interval: 500 * time.Millisecond,
}
