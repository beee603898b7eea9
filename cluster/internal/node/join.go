package node

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// join passes on what either side says until both have said all. A side that breaks breaks for
// the other, too, and what it said before is passed on; one that breaks after it has said all
// ends what the other says. No time limits it: a connection that is silent may be in use, and
// keep-alive probes tell when who is at its other end has vanished.
func join(there, here net.Conn, read io.Reader) {
	var both sync.WaitGroup
	far, near := newSide(there, there), newSide(here, read)
	both.Go(func() { pass(far, near) })
	both.Go(func() { pass(near, far) })
	both.Wait()
}

// pass passes on what one side says.
func pass(to, from *side) {
	_, err := io.Copy(to, from)
	if from.cut != nil || (err == nil && from.brokeWhileWritten()) {
		reset(to.conn)
		return
	}
	if err != nil {
		return // it takes nothing any more: how it ends is seen where it is read
	}
	if half, ok := to.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	if awaitOver(from.conn) {
		_ = to.conn.Close() // what it would still say is heard by nobody
	}
}

// side is one of two connections that are joined.
type side struct {
	conn net.Conn
	read io.Reader
	cut  error // what reading ended of, which a copy does not tell from what writing did
	// writing holds an element while the connection is written to, and broken is changed.
	writing chan struct{}
	broken  bool
}

func newSide(conn net.Conn, read io.Reader) *side {
	return &side{conn: conn, read: read, writing: make(chan struct{}, 1)}
}

// Read implements io.Reader.
func (s *side) Read(p []byte) (int, error) {
	n, err := s.read.Read(p)
	if !errors.Is(err, io.EOF) {
		s.cut = err
	}
	return n, err
}

// Write implements io.Writer.
func (s *side) Write(p []byte) (int, error) {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	n, err := s.conn.Write(p)
	s.broken = s.broken || errors.Is(err, syscall.ECONNRESET)
	return n, err
}

// brokeWhileWritten reports whether an end that was read is none: the kernel tells once that a
// connection broke, and if that is who writes, then who reads is told that it ended.
func (s *side) brokeWhileWritten() bool {
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
		return s.broken
	case <-time.After(timing.joinSettle):
		return false
	}
}

// reset ends a connection in a way that the other side takes for an error, and no end.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it may be closed already
	}
	_ = conn.Close()
}
