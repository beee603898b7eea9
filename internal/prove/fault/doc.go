// Package fault describes which faults are injected between an operator and its API server, where and when. The description is data that
// people can read and files can store:
//
//	{"kind": "conflict", "on": {"verb": "patch", "resource": "boxes/status", "nth": 2}}
//	{"kind": "kill", "moment": "effect", "on": {"verb": "create", "resource": "configmaps"}}
//	{"kind": "hold", "view": "pods", "on": {"verb": "event", "resource": "pods", "type": "DELETED"}}
//
// A [Match] selects requests or watch events, and which occurrence of them. A [Moment] states if the fault is injected before or after
// the server executes the request, and a [Kind] is the effect. A [Script] contains the faults of one run and counts matches.
// [Fault.Answer] returns a response as the API server would, in the encoding that the client requested. Package proxy injects the faults.
// docs/prove/faults.md describes them for users.
package fault
