//go:build linux

package node

import (
	"io"
	"net"
	"testing"
	"time"
)

// After a side has ended its data, all its data is forwarded, and it still receives data. If it then breaks, the connection
// ends even if the other side is silent.
func TestJoinEndsAfterHalf(t *testing.T) {
	t.Parallel()
	client, here := connected(t)
	there, server := connected(t)
	joined := make(chan struct{})
	go func() {
		defer close(joined)
		defer here.Close()
		defer there.Close()
		join(there, here, here)
	}()
	if _, err := server.Write([]byte("all")); err != nil {
		t.Fatal(err)
	}
	if err := server.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(client); err != nil || string(said) != "all" {
		t.Fatalf("the client is told %q, %v", said, err)
	}
	if _, err := client.Write([]byte("more")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(server, make([]byte, len("more"))); err != nil {
		t.Fatalf("who has said all is not said to any more: %v", err)
	}
	reset(server)
	select {
	case <-joined:
	case <-time.After(time.Minute):
		t.Error("a side is waited for that nobody hears")
	}
	client.Close()
}
