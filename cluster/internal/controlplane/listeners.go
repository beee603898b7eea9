package controlplane

import (
	"errors"
	"net"
	"sync"

	"k8s.io/klog/v2"
)

// listeners combines several listeners into one, because the API server accepts only one. Its address is the address of the
// first.
type listeners struct {
	first    net.Listener
	accepted chan accepted
	closed   chan struct{}
	close    sync.Once

	mu   sync.Mutex
	more []net.Listener
}

type accepted struct {
	conn net.Conn
	err  error
}

func newListeners(first net.Listener) *listeners {
	l := &listeners{first: first, accepted: make(chan accepted), closed: make(chan struct{})}
	go l.accept(first)
	return l
}

// add also serves connections to a further listener, and closes it with the others.
func (l *listeners) add(further net.Listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.more = append(l.more, further)
	go l.accept(further)
}

func (l *listeners) accept(from net.Listener) {
	for {
		conn, err := from.Accept()
		if err != nil && from != l.first && !isTemporary(err) {
			klog.V(2).InfoS("A further listener of the API server ended", "address", from.Addr(), "cause", err)
			return
		}
		select {
		case l.accepted <- accepted{conn, err}:
		case <-l.closed:
			if conn != nil {
				conn.Close()
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// isTemporary reports whether a server waits a moment after err and then continues, such as when too many files are open.
func isTemporary(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Temporary() //nolint:staticcheck // it is what http.Server goes by
}

// Accept implements net.Listener.
func (l *listeners) Accept() (net.Conn, error) {
	select {
	case next := <-l.accepted:
		return next.conn, next.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listeners) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	l.close.Do(func() {
		close(l.closed)
		err = l.first.Close()
		for _, further := range l.more {
			err = errors.Join(err, further.Close())
		}
	})
	return err
}

// Addr implements net.Listener.
func (l *listeners) Addr() net.Addr { return l.first.Addr() }

// Attach makes the API server serve a further listener, too. The API server closes the listener when it stops.
func (cp *ControlPlane) Attach(listener net.Listener) { cp.listener.add(listener) }
