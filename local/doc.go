// Package local starts, inspects and stops Kubernetes clusters on your machine. Start with [Up]:
//
//	cluster, err := local.Up(ctx, local.Options{})
//	config, err := cluster.RESTConfig()
//
// In tests, use package localtest, which builds on this one.
//
// A cluster is a process of the binary operon-cluster, which is a separate Go module so that the dependencies of
// Kubernetes do not become those of your operator. This package runs the binary and reads the JSON that it prints; see
// docs/decisions/archive/0010-cluster-binary.md. It looks for the binary
//
//  1. at $OPERON_CLUSTER_BINARY,
//  2. next to the running executable,
//  3. in the cache, $OPERON_HOME/cache/operon-cluster, by a fingerprint of its sources.
//
// If none exists, it builds one into the cache: from ./cluster in a checkout of Operon, otherwise with `go install`
// of the same version. The first build takes minutes. One process builds, and all others wait for it.
package local
