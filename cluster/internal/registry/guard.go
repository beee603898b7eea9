package registry

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
)

// Guard restricts a registry that listens on loopback to some users of this machine. It also only accepts the registry's own
// host names, so a web page in a browser cannot access it through a host name that the page's owner controls.
type Guard struct {
	// Users are the IDs of the permitted users.
	Users []uint32
	// Hosts are the host names of the registry, with ports.
	Hosts []string
	// Next is the handler of the registry.
	Next http.Handler
}

// peerKey is the context key for the peer of a connection.
type peerKey struct{}

// peer is the user at the other end of a connection.
type peer struct {
	uid uint32
	err error
}

// Server returns a server whose connections are guarded.
func (g Guard) Server() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(g.serve),
		ReadHeaderTimeout: timing.headerTimeout,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			uid, err := userOf(conn)
			return context.WithValue(ctx, peerKey{}, peer{uid, err})
		},
	}
}

func (g Guard) serve(w http.ResponseWriter, request *http.Request) {
	if failure := g.refuses(request); failure != nil {
		answer(w, failure)
		return
	}
	g.Next.ServeHTTP(w, request)
}

func (g Guard) refuses(request *http.Request) *Failure {
	if !slices.Contains(g.Hosts, request.Host) {
		return &Failure{http.StatusMisdirectedRequest, "DENIED", fmt.Sprintf("this registry is called %q, not %q", g.Hosts, request.Host)}
	}
	who, ok := request.Context().Value(peerKey{}).(peer)
	if !ok || who.err != nil {
		return &Failure{http.StatusForbidden, "DENIED", fmt.Sprintf("cannot find out which user sent the request: %v", who.err)}
	}
	if !slices.Contains(g.Users, who.uid) {
		return &Failure{http.StatusForbidden, "DENIED", fmt.Sprintf(
			"this registry belongs to another user's cluster, whose images run as root: you are user %d, and only user %d may push", who.uid, g.Users)}
	}
	return nil
}
