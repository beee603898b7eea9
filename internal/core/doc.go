// Package core holds the decisions of the runtime: what to create, change and delete, what an outcome
// means, what a status says. They are pure functions of their arguments and are tested by scenario files.
//
// Its packages import Kubernetes' types and each other, and nothing else of Operon. They have no client,
// no clock, no goroutine and no lock; package house holds that.
package core
