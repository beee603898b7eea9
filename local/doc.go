// Package local is the client of the local Kubernetes: it finds the operon-cluster binary,
// builds it where there is none, and starts, inspects and stops clusters through it.
//
//	cluster, err := local.Up(ctx, local.Options{})
//	config, err := cluster.RESTConfig()
//
// Kubernetes itself lives in a module and a binary of its own, because its dependencies
// must not become those of an operator. So this package runs that binary and reads the
// JSON that it prints; see docs/decisions/0010-cluster-binary.md. It is looked for
//
//  1. at $OPERON_CLUSTER_BINARY,
//  2. beside the running executable,
//  3. in the cache, $OPERON_HOME/cache/operon-cluster, by a fingerprint of its sources,
//  4. and else it is built into the cache: from ./cluster in a checkout of Operon, by
//     `go install` of the same version elsewhere. That takes minutes the first time. One process
//     builds while all others wait for it.
//
// Tests use package localtest, which stands on this one.
package local
