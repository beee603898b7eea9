package node

import (
	"io"
	"net"
	"testing"
)

// Connections that are too many wait until others have ended.
func TestServeEachWaits(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const atOnce = 2
	came, leave := make(chan struct{}), make(chan struct{})
	serveEach(t.Context(), listener, atOnce, func(conn net.Conn) {
		defer conn.Close()
		came <- struct{}{}
		<-leave
	})
	for range atOnce + 1 {
		conn, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		defer io.Copy(io.Discard, conn)
	}
	for range atOnce {
		<-came
	}
	select {
	case <-came:
		t.Errorf("more than %d are served at once", atOnce)
	case leave <- struct{}{}:
		<-came
	}
	close(leave)
}
