package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// gate accepts and tracks connections. While it is shut, it closes all new
// connections.
type gate struct {
	net.Listener

	mu    sync.Mutex
	links map[*link]bool
	shut  time.Time // until then
}

// link is a connection of the operator.
type link struct {
	net.Conn
	gate *gate

	mu     sync.Mutex
	user   *Instance
	shared bool // more than one instance has used it
}

// Accept implements net.Listener.
func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l := &link{Conn: c, gate: g}
		g.mu.Lock()
		open := time.Now().After(g.shut)
		if open {
			g.links[l] = true
		}
		g.mu.Unlock()
		if open {
			return l, nil
		}
		reset(c)
	}
}

// reset closes a connection with a TCP reset, as if no process listened on the port.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if this fails, the connection is closed without a reset
	}
	_ = c.Close() // no caller could handle an error
}

// Close implements net.Conn.
func (l *link) Close() error {
	l.gate.mu.Lock()
	delete(l.gate.links, l)
	l.gate.mu.Unlock()
	return l.Conn.Close()
}

// cutAll closes all connections and accepts none for a time.
func (g *gate) cutAll(while time.Duration) {
	g.mu.Lock()
	if until := time.Now().Add(while); until.After(g.shut) {
		g.shut = until
	}
	g.mu.Unlock()
	g.cut(func(*link) bool { return true })
}

// cutOf closes the connections that only this instance has used.
func (g *gate) cutOf(i *Instance) {
	g.cut(func(l *link) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.user == i && !l.shared
	})
}

func (g *gate) cut(which func(*link) bool) {
	g.mu.Lock()
	var chosen []*link
	for l := range g.links {
		if which(l) {
			chosen = append(chosen, l)
		}
	}
	g.mu.Unlock()
	for _, l := range chosen {
		_ = l.Close() // it may be closed already, which is fine
	}
}

// inLink is the context key of the connection of a request.
type inLink struct{}

func withLink(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, inLink{}, c)
}

// usedBy records which instance uses the connection of a request.
func usedBy(ctx context.Context, i *Instance) {
	secure, ok := ctx.Value(inLink{}).(*tls.Conn)
	if !ok {
		return
	}
	l, ok := secure.NetConn().(*link)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.user != nil && l.user != i {
		l.shared = true
	}
	l.user = i
}

// hangUp closes the connection of a request after its response has arrived.
func hangUp(ctx context.Context) {
	if c, ok := ctx.Value(inLink{}).(net.Conn); ok {
		time.AfterFunc(timing.linger, func() { _ = c.Close() }) // it may be closed already, which is fine
	}
}
