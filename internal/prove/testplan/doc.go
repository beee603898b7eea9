// Package testplan defines the test cases of `operon prove` and proposes the most promising ones.
//
// A [Plan] is a workload and the faults that happen meanwhile. It is a file that says everything,
// so that a run can be repeated from it. [Of] reads the traces of runs without faults and returns
// plans, those with the greatest promise first: see docs/prove/plans.md.
//
// Nothing here does anything: the planner is a function of what was recorded.
package testplan
