// Package providers executes the decisions of package external: it calls providers, remembers observations while they are recent, and
// limits calls to systems that are slow or unavailable.
//
// A reconcile works in rounds. In each round, every resource that is not settled determines its next call. A few calls run at a time,
// and what they have to record is recorded for all resources in one write: for ten machines, one write records the tokens and another
// one the IDs.
package providers
