package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// headerTimeout is how long the API server may take to say where it wants to be connected.
const headerTimeout = 10 * time.Second

// ServeEgress connects the API server with what it talks to, kubelets, webhooks and
// Services: those with addresses of the node's network there, others from here. It answers
// CONNECT on a unix socket, as the API server's egress selector asks, until ctx ends.
func (n *Node) ServeEgress(ctx context.Context, socket string) error {
	if err := os.RemoveAll(socket); err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("the way into the node's network: %w", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(n.connect), ReadHeaderTimeout: headerTimeout}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "The way into the node's network ended")
		}
	}()
	return nil
}

func (n *Node) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is answered here", http.StatusMethodNotAllowed)
		return
	}
	there, err := n.Dial(r.Context(), r.Host)
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

// join passes on what either side says until one has said all and the other answered it.
func join(there, here net.Conn, read io.Reader) {
	var both sync.WaitGroup
	pass := func(to net.Conn, from io.Reader) {
		// Either side may end at any time, and the other is told by closing.
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	both.Go(func() { pass(there, read) })
	both.Go(func() { pass(here, there) })
	both.Wait()
}
