package controlplane

import (
	"io"
	"net"
	"testing"
)

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
