package prove

import "time"

// timing holds the durations of this package.
var timing = struct {
	clusterLife, testSettle, closeTimeout, apart, referencePatience, shrinkFor, pause time.Duration
}{
	// clusterLife is how long the cluster of a killed session keeps running.
	clusterLife: 10 * time.Minute,

	// testSettle is shorter than for programs: in a test, a manager starts without a process.
	testSettle: 600 * time.Millisecond,

	// closeTimeout limits the cleanup of a session in a cluster that is kept. It is longer than that of the last world.
	closeTimeout: 5 * time.Minute,

	// apart is the time between the starts of two reference runs, so that no timestamp is the same in both.
	apart: 1100 * time.Millisecond,

	// referencePatience limits a step of a run without faults.
	referencePatience: 60 * time.Second,

	// pause is how long an operator may pause before it continues with a sample that is not ready. Delays for which operators requeue objects
	// are often 5, 10 or 30 seconds.
	pause: 35 * time.Second,

	// shrinkFor is how long smaller plans are tried for a finding.
	shrinkFor: 20 * time.Second,
}
