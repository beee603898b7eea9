// Package olm contains the decisions of the lifecycle manager: which versions of operators to install and to upgrade to. They are pure
// functions of their arguments and are tested by scenario files; only the solver of package resolve has a time limit, because bundles are untrusted.
//
// For ClusterExtensions, olm/internal/extension/choose.go chooses versions.
//
// Its packages import Kubernetes types, libraries, each other and the core, and nothing else of Operon. They have no client, clock, goroutine or lock. A
// test in package house checks this.
package olm
