// Package bundletest tests a bundle on a local cluster, through the lifecycle manager, as `operon bundle test` does:
//
//	lint         the bundle has no errors
//	install      the manager installs it from a catalog, until its ClusterServiceVersion is Succeeded
//	samples      the samples of the ClusterServiceVersion are created and become ready
//	upgrade      a previous version was installed with its samples, and they survive
//	rollback     what the CRDs of the previous version would do to the stored objects
//	delete       all custom resources can be deleted
//	permissions  no request of the operator was refused
//	uninstall    nothing is left
//	prove        faults, on another cluster, do not change what the operator does
//
// The cluster is new, so nothing in it is from elsewhere, and its audit log has all requests of the operator. The catalog is in a registry of
// this process on loopback. The operator runs in pods on a container node, or as a process on this machine in place of its pods.
package bundletest
