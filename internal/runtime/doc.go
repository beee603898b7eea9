// Package runtime contains what runs inside every operator: the steps of a reconcile, server-side apply, watches, caches in which the
// operator sees its own writes, shards, webhooks and telemetry. All I/O of a reconcile is here, apart from that of authors' steps,
// of external resources and of engines.
//
// Its packages import the core, the packages for authors (durable, external, api) and each other. They never import the root package
// or a tool.
//
// Package queue is the way in: queue/triggers.go records why an object is reconciled, and again, and queue/handler.go decides which of its own events
// count; watches decides that for what a reconcile read and wrote. Package reconcile has the steps of a reconcile, a file for each.
// docs/architecture.md lists where to look for other questions.
package runtime
