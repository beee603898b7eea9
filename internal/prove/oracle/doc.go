// Package oracle checks the invariants in the runs of an operator under test: which properties did not hold.
//
//	Reference   learns from runs without faults what is normal, and finds what is wrong already
//	Judge       finds what is wrong in a run with faults
//
// Each property is an entry in a list, [Checks], which says it in a sentence; its judge looks at
// the end of one step of the workload at a time. From one mistake much follows: a finding that is
// explained by an earlier one, as the same list says, is left out.
//
// A correct operator may do much under faults: try again, do twice what may be done twice, end
// where it cannot go on. It is judged by what is so when the faults are over and all is silent.
//
// All of this works on data: no cluster is needed to judge a trace once more.
package oracle
