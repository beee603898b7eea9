// Package core contains the decisions of the runtime: what to create, change and delete, what an outcome means, and what a status
// contains. They are pure functions of their arguments and are tested by scenario files.
//
// Its packages import Kubernetes types and each other, and nothing else of Operon. They have no client, clock, goroutine or lock. A
// test in package house checks this.
package core
