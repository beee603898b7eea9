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
	// maxConnections is the maximum number of relayed connections of one listener. Each needs about 64 KiB.
	maxConnections = 4096
	// originalDestination is the socket option SO_ORIGINAL_DST of netfilter.
	originalDestination = 80
)

// Relay connects pods and other clients in the node's network with addresses outside of it until ctx ends. The node redirects
// such connections to Relay, and dial opens them from this network. The node must have been started with Egress.
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

// Publish forwards the connections of a listener to a port of the node until ctx ends: the port of a Service (NodePort) or of a
// pod (hostPort). It calls count with 1 for each connection, and with -1 when the connection ends.
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

// serveEach calls do with each connection until ctx ends. If there are too many connections, further ones wait.
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
				time.Sleep(timing.acceptPause) // other goroutines have to close files, and there is no event for that
				continue
			}
			go func() {
				defer func() { <-served }()
				do(conn)
			}()
		}
	}()
}

// connections returns the maximum number of relayed connections: half of the files that this process may open are reserved for
// the API server, which is part of it, and a connection needs two.
func connections() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		klog.ErrorS(err, "The limit of open files is unknown")
		return maxConnections
	}
	return int(min(maxConnections, files.Cur/4))
}

// relay connects an accepted connection with its destination. If the destination is unreachable, it resets the connection,
// because the connection was already accepted.
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

// metadata are addresses outside of link-local ranges at which cloud providers serve the machine's credentials: Azure's
// WireServer, Alibaba's metadata service, and AWS's metadata service for IPv6. What fetches images of catalogs has the same list: see
// internal/ship/image/pulled/transport.go.
var metadata = []netip.Addr{
	netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("fd00:ec2::254"),
}

// Outside reports whether pods may reach an address through the relay. They may not reach the cluster's own addresses, this
// machine's loopback, link-local addresses, and metadata services of cloud providers.
func Outside(address netip.Addr) bool {
	address = address.Unmap()
	for _, own := range settings.Own {
		if own.Contains(address) {
			return false
		}
	}
	return address.IsGlobalUnicast() && !slices.Contains(metadata, address)
}

// nobody is the user and group that own nothing (user_namespaces(7), /proc/sys/fs/overflowuid).
const nobody = 65534

// DialOutside connects to an address with a socket of the user nobody. Firewalls of this machine that let only root connect, as
// Azure's does for the service that has the credentials of the machine, then reject the connections of pods as well.
func DialOutside(ctx context.Context, address string) (conn net.Conn, err error) {
	err = onThread(func() error {
		// They apply to this thread alone, and a socket has the user for which it was opened. setfsuid(2) reports no failure: a call
		// with -1 changes nothing and returns the user.
		_ = unix.Setfsgid(nobody)
		_ = unix.Setfsuid(nobody)
		if user, _ := unix.SetfsuidRetUid(-1); user != nobody {
			return fmt.Errorf("connect as user %d: still user %d", nobody, user)
		}
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return err
	})
	return conn, err
}

// destination returns the original destination of a redirected connection.
func destination(conn net.Conn) (netip.AddrPort, error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("a %T has no other destination", conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return netip.AddrPort{}, err
	}
	var found *unix.IPv6Mreq // large enough for the returned sockaddr_in
	controlled := raw.Control(func(fd uintptr) {
		found, err = unix.GetsockoptIPv6Mreq(int(fd), unix.SOL_IP, originalDestination)
	})
	if err := errors.Join(controlled, err); err != nil {
		return netip.AddrPort{}, fmt.Errorf("find the destination of a connection: %w", err)
	}
	const portAt, addressAt, end = 2, 4, 8
	sockaddr := found.Multiaddr
	port := uint16(sockaddr[portAt])<<8 | uint16(sockaddr[portAt+1])
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(sockaddr[addressAt:end])), port), nil
}
