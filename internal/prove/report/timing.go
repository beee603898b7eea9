package report

import "time"

// timing holds the durations of this package.
var timing = struct{ everyTerminal, everyPlain, quiet time.Duration }{
	// everyTerminal and everyPlain are the shortest intervals at which progress is printed.
	everyTerminal: 100 * time.Millisecond,
	everyPlain:    5 * time.Second,

	// quiet is the shortest time without events that gets its own entry in a timeline.
	quiet: 400 * time.Millisecond,
}
