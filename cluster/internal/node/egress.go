package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"

	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

// ErrDied means that the process of a node ended without reporting a reason. Its log may contain it.
var ErrDied = errors.New("the node's process died")

// Dialer connects to an address.
type Dialer func(ctx context.Context, address string) (net.Conn, error)

// ServeEgress connects the API server with kubelets, webhooks and Services. It serves CONNECT requests of the API server's
// egress selector on a unix socket until ctx ends.
func ServeEgress(ctx context.Context, socket string, dial Dialer) error {
	if err := os.RemoveAll(socket); err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("the way into the node's network: %w", err)
	}
	server := &http.Server{Handler: dial, ReadHeaderTimeout: timing.headerTimeout}
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
		return // the API server has disconnected
	}
	join(there, here, buffered)
}

// Inside reports whether an address belongs to a node's network.
func Inside(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && settings.All.Contains(ip)
}
