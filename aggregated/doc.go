// Package aggregated lets your operator be an aggregated API server, for kinds that a CustomResourceDefinition
// cannot serve: objects that are computed when a client asks for them, or stored somewhere other than etcd, and
// requests that are answered and not stored, like a SubjectAccessReview. The cluster's API servers proxy
// requests for a group and version to the operator, so kubectl, RBAC, informers and quotas work as usual.
//
// Write a [Reader] for a kind. Add a role, an interface with one method, for everything else that clients can do
// with it: [Creator], [Updater], [Deleter], [Watcher]. A [Review] needs only a Creator. [Serve] makes them
// a part of an operator:
//
//	operon.Main("snapshots-operator",
//		aggregated.Serve(v1alpha1.AddToScheme, aggregated.Kind(Snapshots{}, aggregated.Resource[*v1alpha1.Snapshot]{})),
//	)
//
// The rest is done for you, by the library that Kubernetes' own API servers are built on: discovery, OpenAPI
// (from the Go types, at run time), content types, server-side apply, selectors, tables, dry run, preconditions
// and timeouts. The cluster's API server authenticates callers, and RBAC authorizes them. Requests arrive at the
// same address and Service as webhooks, under the same certificates.
//
// Guarantees: a request is answered only if the cluster's front proxy vouches for its caller and the cluster's
// authorization allows it. Discovery lists only the verbs that a kind has roles for. A dry run calls no role that
// changes anything.
//
// Assumptions: all replicas give the same answers, because a request may reach any of them.
//
// Caveats: the results of Get and List are filtered here, so a List with a selector costs as much as a List of all
// objects. The operator needs additional RBAC permissions: see docs/runtime/apiserver.md.
package aggregated
