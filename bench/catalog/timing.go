package main

import "time"

// timing holds the durations of this benchmark.
var timing = struct{ openGoal, queryGoal, startSettle, querySettle time.Duration }{
	openGoal:  100 * time.Millisecond,
	queryGoal: 5 * time.Millisecond,
	// The server returns pages of its program file to the system every two seconds, and free memory every ten seconds if there were queries.
	startSettle: 3 * time.Second,
	querySettle: 12 * time.Second,
}
