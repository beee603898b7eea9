package node_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/cluster/internal/node"
)

// The proxy forwards all data, and the end of the data.
func TestEgressConnects(t *testing.T) {
	t.Parallel()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		conn, err := echo.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		// The client detects missing data.
		_, _ = io.Copy(conn, conn)
	}()
	conn, answer := connect(t, echo.Addr().String(), func(ctx context.Context, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	})
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT: %s", answer.Status)
	}
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(conn); err != nil || string(said) != "hello" {
		t.Errorf("came back: %q, %v", said, err)
	}
}

func TestEgressTellsWhyNot(t *testing.T) {
	t.Parallel()
	_, answer := connect(t, "198.18.128.1:10250", func(context.Context, string) (net.Conn, error) {
		return nil, errors.New("the node has ended")
	})
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusBadGateway || !strings.Contains(string(body), "the node has ended") {
		t.Errorf("%s: %s, %v", answer.Status, body, err)
	}
}

// connect requests a connection to an address from a proxy that dials with dial.
func connect(t *testing.T, address string, dial node.Dialer) (net.Conn, *http.Response) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	if err := node.ServeEgress(t.Context(), socket, dial); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address)
	request := &http.Request{Method: http.MethodConnect}
	answer, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		t.Fatal(err)
	}
	return conn, answer
}

func TestInside(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"198.18.128.1:10250": true, "198.19.0.1:443": true, "127.0.0.1:443": false, "198.20.0.1:443": false, "name:443": false, "198.18.0.1": false,
	} {
		if got := node.Inside(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
