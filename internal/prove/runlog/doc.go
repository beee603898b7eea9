// Package runlog records everything that was observed in one run of an operator under test, as data: what it asked
// for, what happened to the objects of its namespace, how each step of the workload ended, and when the operator
// itself did.
//
// It is what planner, oracles and reports work on. None of them needs a cluster, and each can be
// tested with a trace from a file.
package runlog
