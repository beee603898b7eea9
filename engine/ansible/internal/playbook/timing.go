package playbook

import "time"

// timing contains the durations of this package.
var timing = struct{ start, killGrace, end time.Duration }{
	// start is the time in which the Python process has to become ready. It takes two seconds on an idle machine.
	start: 2 * time.Minute,
	// killGrace is the time that a run has to end after SIGTERM.
	killGrace: 5 * time.Second,
	// end is the time that the Python process has to end, with all runs.
	end: 10 * time.Second,
}
