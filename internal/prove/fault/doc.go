// Package fault describes which faults are injected between an operator and its API server, where and when, as data
// that people can read and files can store:
//
//	{"kind": "conflict", "on": {"verb": "patch", "resource": "boxes/status", "nth": 2}}
//	{"kind": "kill", "moment": "effect", "on": {"verb": "create", "resource": "configmaps"}}
//	{"kind": "hold", "view": "pods", "on": {"verb": "event", "resource": "pods", "type": "DELETED"}}
//
// A [Match] chooses requests, or events of watches, and which occurrence of them, a [Moment] the side
// of the server's work on which the fault strikes, a [Kind] what happens. A [Script] holds the faults
// of one run and counts; [Fault.Answer] writes an answer as the API server would, in the encoding that
// the client asked for. What carries the faults out is package proxy. For users, the model
// is in docs/prove/faults.md.
package fault
