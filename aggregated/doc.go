// Package aggregated lets an operator be an API server of its own, for what no
// CustomResourceDefinition can do: objects that are worked out when somebody asks, or kept
// in another place than etcd; requests that are answered and not stored, as access reviews
// are. API servers pass on what they are asked for a group and version, so that kubectl,
// Roles, informers and quotas know no difference.
//
// An author writes a [Reader] for a kind, with further roles for what else can be done with
// it, each an interface of one method ([Creator], [Updater], [Deleter], [Watcher]), or a
// [Creator] alone for a [Review]. [Serve] makes them a part of an operator:
//
//	operon.Main("snapshots-operator",
//		aggregated.Serve(v1alpha1.AddToScheme, aggregated.Kind(Snapshots{}, aggregated.Resource[*v1alpha1.Snapshot]{})),
//	)
//
// What the roles do not do is done here, by the library that Kubernetes' own API servers are
// made of: discovery, OpenAPI (from the Go types, at run time), content types, server-side
// apply, selectors, tables, dry run, preconditions, time-outs. Whoever asks is known by the
// API server's word for it, and allowed by its Roles. Requests arrive where webhooks do, at
// the same address and Service, under the same certificates.
//
// Guarantees: a request is answered only if its caller was proven by the cluster's front
// proxy and is allowed by the cluster's authorization. Only verbs that a kind has roles for
// are discovered. A dry run calls no role that changes anything.
//
// Assumptions: replicas answer alike, as any of them may be asked.
//
// Caveats: what Get and List return is filtered here, so that a List of very many objects is
// as dear as all of them. The operator needs permissions of its own for this: see
// docs/runtime/apiserver.md.
package aggregated
