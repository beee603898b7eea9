package controlplane

import (
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// busy is a listener whose first accept fails.
type busy struct {
	net.Listener
	failed atomic.Bool
}

func (b *busy) Accept() (net.Conn, error) {
	if b.failed.CompareAndSwap(false, true) {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return b.Listener.Accept()
}

// A further listener continues after a temporary error, after which a server waits.
func TestAFurtherListenerOutlivesTooManyOpenFiles(t *testing.T) {
	t.Parallel()
	listen := func() net.Listener {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return listener
	}
	l, further := newListeners(listen()), &busy{Listener: listen()}
	defer l.Close()
	l.add(further)
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	go server.Serve(l)
	defer server.Close()
	client := &http.Client{Timeout: time.Minute}
	answer, err := client.Get("http://" + further.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
}

func TestFurtherListenersAreServedAndClosed(t *testing.T) {
	t.Parallel()
	var both [2]net.Listener
	for i := range both {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		both[i] = listener
	}
	l := newListeners(both[0])
	l.add(both[1])
	for _, listener := range both {
		there, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		here, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		here.Close()
		if _, err := io.ReadAll(there); err != nil {
			t.Error(err)
		}
		there.Close()
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("a closed one accepts")
	}
	for _, listener := range both {
		if conn, err := net.Dial("tcp", listener.Addr().String()); err == nil {
			conn.Close()
			t.Errorf("%s is open after the close", listener.Addr())
		}
	}
}
