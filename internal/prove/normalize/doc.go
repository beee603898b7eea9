// Package normalize decides whether two runs of an operator ended in the same state.
//
// Two runs never end in the same bytes: names are generated, clocks go on, the API server counts.
// And most of what lies in a namespace is not the operator's doing. So an object is reduced to
// what somebody asked for, and what differs between runs without faults is left out:
//
//	Of      reads the objects of a step: the fields that operator and user own, as paths
//	Learn   finds the noise: what differs between runs that should be equal
//	HistoryOf  reads which fields tell what happened, and not what is
//	Diff    compares two states but for the noise, as differences that a person can read
//
// What is compared, and what is counted only, is said in docs/decisions/archive/0065-what-is-compared.md.
package normalize
