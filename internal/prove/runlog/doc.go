// Package runlog records everything that was observed in one run of an operator under test, as data: its requests, the
// changes of the objects in its namespace, the end of each step of the workload, and the exits of the operator.
//
// Planner, oracles and reports use this data. None of them needs a cluster, and each can be tested with a recorded run
// from a file.
package runlog
