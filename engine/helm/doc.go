// Package helm is the engine that makes operators of Helm charts. The spec of an object is the values of a release of the
// chart, and what the chart renders are the children of the object: package operon applies them, reverts drift, prunes
// what the chart no longer renders, and reports when they are ready. Projects of Operator SDK's Helm operator run
// unchanged.
//
// # Guarantees
//
//   - A release whose values and chart did not change costs no request, also if the chart calls lookup, which reads
//     through watches.
//   - What random functions and now return is kept, so that a chart that calls them renders the same again.
//   - A hook runs once for each revision, even if the operator is killed.
//
// # Caveats
//
//   - No release is stored: helm list and helm rollback do not know it. A chart that renders something else is a new
//     revision; there is no way back but the spec.
//   - A hook must not depend on a hook with another weight for the same event while the spec changes: the newer revision
//     cancels the hooks of the older one.
package helm
