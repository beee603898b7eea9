// Package external is the pure part of what an operator keeps outside of Kubernetes: machines, buckets,
// accounts, entries in somebody else's database. It knows what a provider has to offer, what is
// recorded of each resource, and what comes next for it; it calls nothing and writes nothing.
//
// The record stands in an annotation of the owner. A resource is marked there before it is made, and its
// id is written down after that. Whoever finds a mark without an id asks the external system for
// the mark's key: what is found is taken over, what is not is made. [Next] is the whole of that policy.
package external
