// Package explain explains the state of an object: whether it is ready, what it waits for and which child is the
// trouble, why its operator reconciled it last, and what was done.
//
// It asks three sources, and says what it lacks where one of them is silent: the object and
// what it owns, as they stand in the cluster; their events; and the operator itself, whose
// debug endpoint knows the causes of reconciles (see package reconcilelog). The first two are there
// for any operator, the third for those on Operon's runtime.
package explain
