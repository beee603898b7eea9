package node

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// join forwards data in both directions until both sides have ended their data. If a connection breaks, join forwards the data
// that it received before, and then resets the other connection. If a side breaks after it has ended its data, join also stops
// to read from the other side. There is no timeout: a silent connection may be in use, and keep-alive probes detect a client
// that has vanished.
func join(there, here net.Conn, read io.Reader) {
	var both sync.WaitGroup
	far, near := newSide(there, there), newSide(here, read)
	both.Go(func() { pass(far, near) })
	both.Go(func() { pass(near, far) })
	both.Wait()
}

// pass forwards the data of one side.
func pass(to, from *side) {
	_, err := io.Copy(to, from)
	if from.cut != nil || (err == nil && from.brokeWhileWritten()) {
		reset(to.conn)
		return
	}
	if err != nil {
		return // it accepts no more data; the function that reads from it handles its end
	}
	if half, ok := to.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	if awaitOver(from.conn) {
		_ = to.conn.Close() // there is no receiver for further data from it
	}
}

// side is one of two connections that are joined.
type side struct {
	conn net.Conn
	read io.Reader
	cut  error // the error of reading, which a copy does not distinguish from an error of writing
	// writing contains an element during a write to the connection and while broken changes.
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

// brokeWhileWritten reports whether the end of the data was really an error: the kernel reports a broken connection only once.
// If a write receives the error, a read sees an ordinary end.
func (s *side) brokeWhileWritten() bool {
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
		return s.broken
	case <-time.After(timing.joinSettle):
		return false
	}
}

// reset closes a connection so that the other side sees an error and not an ordinary end.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it may already be closed
	}
	_ = conn.Close()
}
