// Package olm contains the decisions of the lifecycle manager: which versions of operators to install and to upgrade to. They are pure
// functions of their arguments and are tested by scenario files.
//
// Its packages import Kubernetes types, libraries and each other, and nothing else of Operon. They have no client, clock, goroutine or lock. A
// test in package house checks this.
package olm
