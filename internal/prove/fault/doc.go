// Package fault describes which faults are injected between an operator and its API server, where and when, as data that people can read
// and files can store:
//
//	{"kind": "conflict", "on": {"verb": "patch", "resource": "boxes/status", "nth": 2}}
//	{"kind": "kill", "moment": "effect", "on": {"verb": "create", "resource": "configmaps"}}
//	{"kind": "hold", "view": "pods", "on": {"verb": "event", "resource": "pods", "type": "DELETED"}}
//
// A [Match] selects requests or watch events, and which occurrence of them. A [Moment] is the side of the server's work on which the fault
// is injected, and a [Kind] is what happens. A [Script] contains the faults of one run and counts matches. [Fault.Answer] writes a response
// as the API server would, in the encoding that the client requested. Package proxy injects the faults. docs/prove/faults.md describes
// them for users.
package fault
