// Package serve serves a file-based catalog: by gRPC, as the registry of the Operator Lifecycle Manager does, and by HTTP, as its successor's
// catalogd does. When the files of the catalog change, their cache is built beside the old one, and then takes its place.
//
//	server, err := serve.Listen(ctx, serve.Options{Cache: store.Options{Sources: []string{"catalog"}, Dir: "cache"}, GRPC: "127.0.0.1:50051"})
//	err = server.Run(ctx)
package serve
