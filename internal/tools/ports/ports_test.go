package ports_test

import (
	"net"
	"testing"

	"github.com/operon-framework/operon/internal/tools/ports"
)

// A program that knows the number of a port can listen on it several times, and no other program gets it in the meantime.
func TestReserve(t *testing.T) {
	t.Parallel()
	port, err := ports.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		listener, err := net.Listen("tcp", port.Address())
		if err != nil {
			t.Fatal(err)
		}
		connection, err := net.Dial("tcp", port.Address())
		if err != nil {
			t.Fatal(err)
		}
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
		if _, err := net.Listen("tcp", port.Address()); err == nil {
			t.Error("two listen on one port")
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := net.Dial("tcp", port.Address()); err == nil {
		t.Error("somebody answers at a port where nobody listens")
	}
	if err := port.Close(); err != nil {
		t.Error(err)
	}
}
