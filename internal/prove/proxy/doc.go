// Package proxy is the proxy between an operator and its API server: it records requests (package requestlog) and
// injects the faults of a script (package fault).
//
//	operator ──TLS──▶ [Proxy] ──as the operator──▶ API server
//	                     │  └─────as an observer──▶ API server   (what a write changed)
//	                     ├─▶ record.Log
//	                     └─◀ fault.Script
//
// The operator needs to know nothing: it gets a kubeconfig ([Instance.Kubeconfig]) with the proxy's
// address, an authority that was made for this proxy, and a token that was made for this start of
// it. A request with that token goes on with the operator's own credentials; one with other
// credentials goes on with those; one with none goes on with none. Whom the API server sees, and
// what it permits, is as without a proxy. An instance that was killed is revoked, so that nothing
// it still sends arrives.
//
// With a [World], the operator takes one namespace for the whole cluster, so that many can be
// proven at once. [Proxy.Activity] tells whether it is at work.
//
// What an operator sees can be the past: a view is frozen at a resource version, watches queue what is
// newer, and lists that may be old are asked of the API server at that version (view.go, frames.go,
// past.go). What the faults mean to users is in docs/prove/faults.md.
//
// Where no fault strikes, what passes is not changed: JSON, protobuf, watches, compressed answers, and upgraded
// connections (exec, port-forward). Answers are sent on as they come, but for those to
// writes, which are whole before the operator gets the first byte.
package proxy
