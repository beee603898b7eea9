// Package queue decides when an object is reconciled, and why: which events of a managed object are
// news, what triggered the reconcile that comes next, and how often one object may be reconciled.
//
// The work queue itself is controller-runtime's and holds names alone.
package queue
