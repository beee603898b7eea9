package node

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
)

// If a connection breaks during a write to it, the other one breaks, too. The client does not see an ordinary end.
func TestJoinPassesBreaks(t *testing.T) {
	t.Parallel()
	for range 200 {
		client, here := connected(t)
		there, server := connected(t)
		go func() {
			defer here.Close()
			defer there.Close()
			join(there, here, here)
		}()
		wrote := make(chan error, 1)
		go func() {
			_, err := io.Copy(client, endless{})
			wrote <- err
		}()
		if _, err := io.CopyN(io.Discard, server, 1<<20); err != nil {
			t.Fatal(err)
		}
		reset(server)
		// The kernel reports the broken connection only once, to a read or a write.
		_, read := io.ReadAll(client)
		if err := errors.Join(read, <-wrote); !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("the client is told %v, want that the connection is broken", err)
		}
		client.Close()
	}
}

// After a side has ended its data, it still receives all data of the other side.
func TestJoinEndsInOrder(t *testing.T) {
	t.Parallel()
	const size = 8 << 20 // more than the buffers of sockets
	for range 20 {
		client, here := connected(t)
		there, server := connected(t)
		go func() {
			defer here.Close()
			defer there.Close()
			join(there, here, here)
		}()
		if err := client.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, server); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = io.CopyN(server, endless{}, size) // errors are visible at the other side
			server.Close()
		}()
		if n, err := io.Copy(io.Discard, client); n != size || err != nil {
			t.Fatalf("%d bytes came of %d, %v", n, size, err)
		}
		client.Close()
	}
}

// endless is a reader without an end.
type endless struct{}

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) { return len(p), nil }

// connected returns both ends of a connection.
func connected(t *testing.T) (dialed, accepted net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if dialed, err = net.Dial("tcp4", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if accepted, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return dialed, accepted
}
