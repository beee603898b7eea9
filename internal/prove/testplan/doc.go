// Package testplan defines the test cases of `operon prove` and proposes the most promising ones.
//
// A [Plan] is a workload with the faults that are injected while it runs. It is stored in a file with everything that is needed to repeat
// the run. [Of] reads recorded runs without faults and returns plans, the most promising first: see docs/prove/plans.md.
//
// The planner is a pure function of recorded runs.
package testplan
