//go:build linux

package node

import (
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// Connections above the maximum wait until others have ended.
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

// A published port is forwarded to its destination, and a connection is counted as long as it lasts.
func TestPublishCounts(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	there, server := connected(t)
	counted := make(chan int, 2)
	publish(t.Context(), listener, func(n int) { counted <- n }, func(context.Context) (net.Conn, error) { return there, nil })
	client, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := client.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(server, server) // errors are visible at the other side
		server.Close()
	}()
	const said = "and back"
	if _, err := client.Write([]byte(said)); err != nil {
		t.Fatal(err)
	}
	heard := make([]byte, len(said))
	if _, err := io.ReadFull(client, heard); err != nil || string(heard) != said {
		t.Errorf("heard %q, %v", heard, err)
	}
	if n := <-counted; n != 1 || len(counted) > 0 {
		t.Errorf("counted %d, and %d times more", n, len(counted))
	}
	client.Close()
	select {
	case n := <-counted:
		if n != -1 {
			t.Errorf("counted %d at the end", n)
		}
	case <-time.After(time.Minute):
		t.Error("it counts when it is over")
	}
}
