// Package runtime holds what runs inside every operator: the steps of a reconcile, server-side apply,
// watches, caches that read their own writes, shards, webhooks, telemetry. All I/O of an operator is here.
//
// Its packages import the core, the author's vocabulary (durable, external, api) and each other, never
// the framework above them and never a tool.
package runtime
