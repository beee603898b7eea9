// Package queue decides when and why an object is reconciled: which events of a managed object are relevant, what triggered the next
// reconcile, and how often one object may be reconciled.
//
// The work queue is controller-runtime's and holds only names.
package queue
