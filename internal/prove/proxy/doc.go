// Package proxy is the proxy between an operator and its API server: it records requests (package requestlog) and injects
// the faults of a script (package fault).
//
//	operator ──TLS──▶ [Proxy] ──as the operator──▶ API server
//	                     │  └─────as an observer──▶ API server   (what a write changed)
//	                     ├─▶ requestlog.Log
//	                     └─◀ fault.Script
//
// The operator needs no changes: it gets a kubeconfig ([Instance.Kubeconfig]) with the proxy's address, a certificate
// authority that was created for this proxy, and a token that was created for this instance. A request with that token is
// forwarded with the operator's own credentials. A request with other credentials, or without any, is forwarded
// unchanged. The API server therefore authenticates and authorizes the same users as without a proxy. An instance that
// was killed is revoked: its later requests are not forwarded.
//
// With a [World], the operator sees one namespace as the whole cluster, so that many operators can be tested at once.
// [Proxy.Activity] reports whether it is working.
//
// The operator's view can be in the past: a view is frozen at a resource version, watches queue newer events, and lists
// that may be stale are requested from the API server at that version (view.go, frames.go, past.go). docs/prove/faults.md
// describes the faults for users.
//
// Without a fault, traffic passes unchanged: JSON, protobuf, watches, compressed responses, and upgraded connections
// (exec, port-forward). Only the compression of watches is switched off. Responses are streamed, except responses to
// writes, which are complete before the operator receives the first byte.
package proxy
