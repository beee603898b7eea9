package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/operon-framework/operon/internal/ship/catalog/store"
)

// maxConnections is how many connections a listener accepts at a time. Others wait.
const maxConnections = 256

// Options describe a server.
type Options struct {
	// Cache is the cache of the catalog.
	Cache store.Options
	// GRPC and HTTP are the addresses to listen on, such as 127.0.0.1:50051. Without an address, the protocol is not served.
	GRPC, HTTP string
	// Report gets one line about each event. It is called from several goroutines, not at the same time as another one.
	Report func(line string)
}

// Server is a server that listens.
type Server struct {
	live        *live
	cache       store.Options
	fingerprint string
	report      func(string)
	rpc, web    net.Listener
	// unreleased is done when it was reported that memory cannot be returned.
	unreleased sync.Once
}

// Listen opens the catalog and listens. Connections wait until [Server.Run].
func Listen(ctx context.Context, o Options) (_ *Server, err error) {
	if o.GRPC == "" && o.HTTP == "" {
		return nil, errors.New("want an address for gRPC or HTTP")
	}
	s := &Server{cache: o.Cache, report: o.Report}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.rpc, err = listen(o.GRPC); err != nil {
		return nil, err
	}
	if s.web, err = listen(o.HTTP); err != nil {
		return nil, err
	}
	if s.fingerprint, err = store.Fingerprint(o.Cache.Sources); err != nil {
		return nil, err
	}
	opened, err := store.Open(ctx, o.Cache)
	if err != nil {
		return nil, err
	}
	s.live = newLive(opened)
	s.reportProblems(opened.Problems())
	s.report(contents(opened))
	return s, nil
}

func listen(address string) (net.Listener, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // this protocol is not served
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w; name another address", err)
	}
	return netutil.LimitListener(listener, maxConnections), nil
}

// GRPC returns the address of the gRPC service, or "".
func (s *Server) GRPC() string { return addressOf(s.rpc) }

// HTTP returns the address of the HTTP service, or "".
func (s *Server) HTTP() string { return addressOf(s.web) }

func addressOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// close closes what a server has open that does not run.
func (s *Server) close() error {
	var failed error
	for _, one := range []net.Listener{s.rpc, s.web} {
		if one != nil {
			failed = errors.Join(failed, one.Close())
		}
	}
	return failed
}

// Run serves until ctx ends. Then requests that have begun may end.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if s.rpc != nil {
		server := newGRPC(s.live)
		group.Go(func() error { return serveGRPC(server, s.rpc) })
		group.Go(func() error { <-ctx.Done(); stopGRPC(server); return nil })
	}
	if s.web != nil {
		server := newHTTP(s.live)
		group.Go(func() error {
			if err := server.Serve(s.web); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
		group.Go(func() error { <-ctx.Done(); return stopHTTP(server) })
	}
	group.Go(func() error { return s.watch(ctx) })
	err := group.Wait()
	s.live.current.queries.Wait()
	return errors.Join(err, s.live.current.Close())
}

// serveGRPC returns no error for a server that is stopped, before it serves or later.
func serveGRPC(server *grpc.Server, l net.Listener) error {
	if err := server.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

func stopGRPC(server *grpc.Server) {
	late := time.AfterFunc(timing.stop, server.Stop)
	defer late.Stop()
	server.GracefulStop()
}

func stopHTTP(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), timing.stop)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return server.Close()
	}
	return nil
}
