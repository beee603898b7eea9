package serve

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/ship/catalog/registry"
	"github.com/operon-framework/operon/internal/ship/catalog/store"
)

// Limits of gRPC: the size of a request in bytes, and the requests of a connection at a time.
const (
	maxRequest = 64 << 10
	maxStreams = 64
)

// healthNames are the services whose health clients ask for. The Operator Lifecycle Manager asks for Registry.
var healthNames = []string{"", "Registry", registry.Registry_ServiceDesc.ServiceName}

func newGRPC(l *live) *grpc.Server {
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxRequest), grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(timing.request), grpc.MaxHeaderListSize(maxRequest),
	)
	registry.RegisterRegistryServer(server, &service{live: l})
	healthy := health.NewServer()
	for _, name := range healthNames {
		healthy.SetServingStatus(name, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	grpc_health_v1.RegisterHealthServer(server, healthy)
	reflection.Register(server)
	return server
}

// service answers the requests of registry clients.
type service struct {
	registry.UnimplementedRegistryServer
	live *live
}

// failed returns the status for an error of a query.
func failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, store.ErrCorrupt):
		return status.Error(codes.Unavailable, err.Error()+"; it is being rebuilt, try again")
	}
	if known, ok := status.FromError(err); ok { // of the connection
		return known.Err()
	}
	return status.FromContextError(err).Err()
}

// one answers a request with a message.
func one[M any](l *live, query func(*store.Store) (*M, error)) (*M, error) {
	var found *M
	err := l.use(func(s *store.Store) (err error) {
		found, err = query(s)
		return err
	})
	if err != nil {
		return nil, failed(err)
	}
	return found, nil
}

// entries answers a request with channel entries.
func (s *service) entries(stream grpc.ServerStreamingServer[registry.ChannelEntry], query func(*store.Store) ([]*registry.ChannelEntry, error)) error {
	return failed(s.live.use(func(from *store.Store) error {
		found, err := query(from)
		if err != nil {
			return err
		}
		for _, entry := range found {
			if err := stream.Send(entry); err != nil {
				return err
			}
		}
		return nil
	}))
}

// byKind is a request for providers of an API.
type byKind interface {
	GetGroup() string
	GetVersion() string
	GetKind() string
}

func kindOf(r byKind) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.GetGroup(), Version: r.GetVersion(), Kind: r.GetKind()}
}

func (s *service) ListPackages(_ *registry.ListPackageRequest, stream grpc.ServerStreamingServer[registry.PackageName]) error {
	return failed(s.live.use(func(from *store.Store) error {
		for _, name := range from.PackageNames() {
			if err := stream.Send(&registry.PackageName{Name: name}); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (s *service) GetPackage(_ context.Context, r *registry.GetPackageRequest) (*registry.Package, error) {
	return one(s.live, func(from *store.Store) (*registry.Package, error) { return from.Package(r.GetName()) })
}

func (s *service) GetBundle(_ context.Context, r *registry.GetBundleRequest) (*registry.Bundle, error) {
	return one(s.live, func(from *store.Store) (*registry.Bundle, error) {
		return from.Bundle(r.GetPkgName(), r.GetChannelName(), r.GetCsvName())
	})
}

func (s *service) GetBundleForChannel(_ context.Context, r *registry.GetBundleInChannelRequest) (*registry.Bundle, error) {
	return one(s.live, func(from *store.Store) (*registry.Bundle, error) {
		return from.Head(r.GetPkgName(), r.GetChannelName())
	})
}

func (s *service) GetChannelEntriesThatReplace(r *registry.GetAllReplacementsRequest, stream grpc.ServerStreamingServer[registry.ChannelEntry]) error {
	return s.entries(stream, func(from *store.Store) ([]*registry.ChannelEntry, error) { return from.Replacing(r.GetCsvName()) })
}

func (s *service) GetBundleThatReplaces(_ context.Context, r *registry.GetReplacementRequest) (*registry.Bundle, error) {
	return one(s.live, func(from *store.Store) (*registry.Bundle, error) {
		return from.Replacement(r.GetCsvName(), r.GetPkgName(), r.GetChannelName())
	})
}

func (s *service) GetChannelEntriesThatProvide(r *registry.GetAllProvidersRequest, stream grpc.ServerStreamingServer[registry.ChannelEntry]) error {
	return s.entries(stream, func(from *store.Store) ([]*registry.ChannelEntry, error) { return from.Providing(kindOf(r)) })
}

func (s *service) GetLatestChannelEntriesThatProvide(r *registry.GetLatestProvidersRequest, stream grpc.ServerStreamingServer[registry.ChannelEntry]) error {
	return s.entries(stream, func(from *store.Store) ([]*registry.ChannelEntry, error) { return from.LatestProviding(kindOf(r)) })
}

func (s *service) GetDefaultBundleThatProvides(_ context.Context, r *registry.GetDefaultProviderRequest) (*registry.Bundle, error) {
	return one(s.live, func(from *store.Store) (*registry.Bundle, error) { return from.Provider(kindOf(r)) })
}

func (s *service) ListBundles(_ *registry.ListBundlesRequest, stream grpc.ServerStreamingServer[registry.Bundle]) error {
	return failed(s.live.use(func(from *store.Store) error { return from.List(stream.Context(), stream.Send) }))
}
