// Package runlog records everything that was observed in one run of an operator under test, as data: its requests, the changes of the
// objects in its namespace, how each step of the workload ended, and when the operator exited.
//
// Planner, oracles and reports work on it. None of them needs a cluster, and each can be tested with a recorded run from a file.
package runlog
