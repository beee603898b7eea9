//go:build linux

package registry

import (
	"net"
	"testing"
)

// The kernel reports that a closed socket belongs to root. A client that closes its socket right after sending must not be
// accepted as root.
func TestClosedConnectionsAreNobodys(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := userOf(server); err != nil {
		t.Errorf("an open connection: %v", err)
	}
	client.Close()
	// The end of the data arrives after the state of the socket has changed.
	if _, err := server.Read(make([]byte, 1)); err == nil {
		t.Fatal("the client is not closed")
	}
	if uid, err := userOf(server); err == nil {
		t.Errorf("a closed connection is user %d's", uid)
	}
}
