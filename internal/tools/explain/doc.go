// Package explain explains the state of an object: whether it is ready, what it waits for, which child causes the problem, why its operator
// reconciled it last, and what the operator did.
//
// It uses three sources, and reports which of them is missing: the object and its children in the cluster; their events; and the debug
// endpoint of the operator, which knows the causes of reconciles (see package reconcilelog). The first two exist for any operator, the
// third for those built with Operon.
package explain
