package node

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/node/settings"
)

const (
	// dialTimeout is how long the other side may take to answer.
	dialTimeout = 30 * time.Second
	// acceptPause is how long nothing is taken where the process has run out of files.
	acceptPause = 100 * time.Millisecond
)

// Publish has what a listener takes lead to a port of the node's, until ctx ends: that of a
// Service (NodePort) or of a pod (hostPort).
func (n *Node) Publish(ctx context.Context, listener net.Listener, port uint16) {
	to := netip.AddrPortFrom(settings.Address, port).String()
	serveEach(ctx, listener, func(here net.Conn) {
		relay(ctx, here, func(ctx context.Context) (net.Conn, error) { return n.Dial(ctx, to) })
	})
}

// serveEach does something with each connection, until ctx ends.
func serveEach(ctx context.Context, listener net.Listener, do func(net.Conn)) {
	context.AfterFunc(ctx, func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				klog.ErrorS(err, "A connection could not be accepted", "at", listener.Addr())
				time.Sleep(acceptPause) // files are closed by others, of which nobody tells
				continue
			}
			go do(conn)
		}
	}()
}

// relay connects one that came with where it leads. What cannot be reached is told by a
// reset: the connection was accepted by then.
func relay(ctx context.Context, here net.Conn, dial func(context.Context) (net.Conn, error)) {
	defer here.Close()
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	there, err := dial(dialing)
	cancel()
	if err != nil {
		klog.V(2).InfoS("A connection leads nowhere", "from", here.RemoteAddr(), "cause", err)
		reset(here)
		return
	}
	defer there.Close()
	join(there, here, here)
}
