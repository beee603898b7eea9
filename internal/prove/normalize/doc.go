// Package normalize decides whether two runs of an operator ended in the same state.
//
// Two runs never end with the same bytes: names are generated, time passes, the API server counts. Most of what a namespace contains is
// not the operator's work. So an object is reduced to the fields that a client asked for, and fields that differ between runs without
// faults are ignored:
//
//	Of         reads the objects of a step: the fields of operator and user, as paths
//	Learn      finds the noise: fields that differ between runs that should be equal
//	HistoryOf  reads which fields record history, not state
//	Diff       compares two states except for the noise, and returns readable differences
//
// docs/decisions/archive/0065-what-is-compared.md lists what is compared and what is only counted.
package normalize
