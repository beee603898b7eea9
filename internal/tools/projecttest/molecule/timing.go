package molecule

import "time"

// timing holds the durations of this package.
var timing = struct{ grace time.Duration }{
	// grace is the time that a playbook has to end before it is killed.
	grace: 5 * time.Second,
}
