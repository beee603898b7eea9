// Package oracle checks the invariants in the runs of an operator under test and returns the properties that did not hold.
//
//	Reference   learns from runs without faults what is normal, and finds what is wrong without any fault
//	Judge       finds what is wrong in a run with faults
//
// Each property is an entry in the list [Checks], with a sentence that describes it. Its check reads the end of one step
// of the workload at a time. One bug has many consequences: findings that an earlier finding explains, according to
// the same list, are omitted.
//
// Under faults, a correct operator may retry, repeat idempotent work, and report an error if it cannot continue. It is
// judged by the state after the faults have ended and the operator and the cluster are quiet.
//
// The package works on recorded data: checking a recorded run again does not need a cluster.
package oracle
