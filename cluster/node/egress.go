package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/node/settings"
)

// headerTimeout is how long the API server may take to say where it wants to be connected.
const headerTimeout = 10 * time.Second

// Dialer connects to an address.
type Dialer func(ctx context.Context, address string) (net.Conn, error)

// ServeEgress connects the API server with what it talks to: kubelets, webhooks and
// Services. It answers CONNECT on a unix socket, as the API server's egress selector asks,
// until ctx ends.
func ServeEgress(ctx context.Context, socket string, dial Dialer) error {
	if err := os.RemoveAll(socket); err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("the way into the node's network: %w", err)
	}
	server := &http.Server{Handler: dial, ReadHeaderTimeout: headerTimeout}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "The way into the node's network ended")
		}
	}()
	return nil
}

// ServeHTTP implements http.Handler.
func (d Dialer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is answered here", http.StatusMethodNotAllowed)
		return
	}
	there, err := d(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		klog.ErrorS(err, "A connection into the node's network was lost")
		return
	}
	defer here.Close()
	if err := buffered.Flush(); err != nil {
		return // the API server is gone
	}
	join(there, here, buffered)
}

// Inside tells whether an address belongs to a node's network.
func Inside(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && settings.All.Contains(ip)
}

// join passes on what either side says until one has said all and the other answered it. A
// side that breaks breaks for the other, too, and what it said before is passed on.
func join(there, here net.Conn, read io.Reader) {
	var both sync.WaitGroup
	pass := func(to net.Conn, from io.Reader) {
		said := &source{Reader: from}
		if _, err := io.Copy(to, said); err != nil && said.err == nil {
			return // it takes nothing any more: how it ends is seen where it is read
		}
		if said.err != nil {
			reset(to)
			return
		}
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	both.Go(func() { pass(there, read) })
	both.Go(func() { pass(here, there) })
	both.Wait()
}

// source remembers what reading ended of, which a copy does not tell from what writing did.
type source struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// reset ends a connection in a way that the other side takes for an error, and no end.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it may be closed already
	}
	_ = conn.Close()
}
