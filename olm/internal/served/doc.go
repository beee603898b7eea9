// Package served reads catalogs from servers of the registry's gRPC service, such as those of the Operator Lifecycle Manager, and writes them as
// file-based catalogs.
//
// Servers are untrusted: the size and the number of their answers are bounded, and no link-local address is connected to.
package served
