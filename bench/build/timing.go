package main

import "time"

// timing holds the goals of this benchmark.
var timing = struct{ unchanged, afterUp time.Duration }{
	// unchanged is that of a build if nothing has changed.
	unchanged: time.Second,
	// afterUp is that of the first build after `operon up`.
	afterUp: 20 * time.Second,
}
