// Package registry is the gRPC service api.Registry, by which the Operator Lifecycle Manager reads catalogs: messages, client and server,
// generated from registry.proto.
package registry

//go:generate go run github.com/bufbuild/buf/cmd/buf@v1.75.0 generate
