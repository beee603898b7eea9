package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/operon-framework/operon/cluster/internal/node/settings"
)

const (
	// maxConnections is how many are relayed at once by one listener, of which each takes some 64 KiB.
	maxConnections = 4096
	// originalDestination is the socket option SO_ORIGINAL_DST of netfilter's.
	originalDestination = 80
)

// Relay connects pods, and what else is in the node's network, with what is outside of it,
// until ctx ends: the node leads such connections here, and dial makes them from this
// network. The node has to be started with Egress.
func (n *Node) Relay(ctx context.Context, dial Dialer) error {
	listener, err := n.Listen(netip.AddrPortFrom(netip.IPv4Unspecified(), settings.RelayPort))
	if err != nil {
		return fmt.Errorf("the way out of the node's network: %w", err)
	}
	serveEach(ctx, listener, connections(), func(here net.Conn) {
		relay(ctx, here, func(ctx context.Context) (net.Conn, error) { return dialDestination(ctx, here, dial) })
	})
	return nil
}

// Publish has what a listener takes lead to a port of the node's, until ctx ends: that of a
// Service (NodePort) or of a pod (hostPort). count is told 1 of each connection, and -1 when
// it ends.
func (n *Node) Publish(ctx context.Context, listener net.Listener, port uint16, count func(int)) {
	to := netip.AddrPortFrom(settings.Address, port).String()
	publish(ctx, listener, count, func(ctx context.Context) (net.Conn, error) { return n.Dial(ctx, to) })
}

func publish(ctx context.Context, listener net.Listener, count func(int), dial func(context.Context) (net.Conn, error)) {
	serveEach(ctx, listener, connections(), func(here net.Conn) {
		count(1)
		defer count(-1)
		relay(ctx, here, dial)
	})
}

// serveEach does something with each connection, until ctx ends. Those that are too many at once wait.
func serveEach(ctx context.Context, listener net.Listener, atOnce int, do func(net.Conn)) {
	context.AfterFunc(ctx, func() { listener.Close() })
	served := make(chan struct{}, atOnce)
	go func() {
		for {
			served <- struct{}{}
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				<-served
				klog.ErrorS(err, "A connection could not be accepted", "at", listener.Addr())
				time.Sleep(timing.acceptPause) // files are closed by others, of which nobody tells
				continue
			}
			go func() {
				defer func() { <-served }()
				do(conn)
			}()
		}
	}()
}

// connections is how many may be relayed at once: the API server, which is this process too,
// keeps half of the files that it may open, and a connection takes two.
func connections() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		klog.ErrorS(err, "How many files may be open is not known")
		return maxConnections
	}
	return int(min(maxConnections, files.Cur/4))
}

// relay connects one that came with where it leads. What cannot be reached is told by a
// reset: the connection was accepted by then.
func relay(ctx context.Context, here net.Conn, dial func(context.Context) (net.Conn, error)) {
	defer here.Close()
	dialing, cancel := context.WithTimeout(ctx, timing.dialTimeout)
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

func dialDestination(ctx context.Context, here net.Conn, dial Dialer) (net.Conn, error) {
	to, err := destination(here)
	if err != nil {
		return nil, err
	}
	if !Outside(to.Addr()) {
		return nil, fmt.Errorf("%s is not outside", to)
	}
	return dial(ctx, to.String())
}

// metadata are addresses outside of link-local ranges where clouds keep the machine's credentials: Azure's
// WireServer, Alibaba's metadata service and AWS' by IPv6.
var metadata = []netip.Addr{
	netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("fd00:ec2::254"),
}

// Outside reports whether pods may reach an address by the relay. They may not reach the cluster's own addresses,
// this machine's loopback, link-local addresses, and metadata services of clouds.
func Outside(address netip.Addr) bool {
	address = address.Unmap()
	for _, own := range settings.Own {
		if own.Contains(address) {
			return false
		}
	}
	return address.IsGlobalUnicast() && !slices.Contains(metadata, address)
}

// destination is where a connection was led away from.
func destination(conn net.Conn) (netip.AddrPort, error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("a %T has no other destination", conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return netip.AddrPort{}, err
	}
	var found *unix.IPv6Mreq // which is large enough for the sockaddr_in that is answered
	controlled := raw.Control(func(fd uintptr) {
		found, err = unix.GetsockoptIPv6Mreq(int(fd), unix.SOL_IP, originalDestination)
	})
	if err := errors.Join(controlled, err); err != nil {
		return netip.AddrPort{}, fmt.Errorf("where the connection wants to go: %w", err)
	}
	const portAt, addressAt, end = 2, 4, 8
	sockaddr := found.Multiaddr
	port := uint16(sockaddr[portAt])<<8 | uint16(sockaddr[portAt+1])
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(sockaddr[addressAt:end])), port), nil
}
