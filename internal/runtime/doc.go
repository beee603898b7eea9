// Package runtime contains what runs inside every operator: the steps of a reconcile, server-side apply, watches, caches in which the
// operator sees its own writes, shards, webhooks and telemetry. All I/O of a reconcile is here, apart from that of authors' steps,
// of external resources and of engines.
//
// Its packages import the core, the packages for authors (durable, external, api) and each other. They never import the root package
// or a tool.
package runtime
