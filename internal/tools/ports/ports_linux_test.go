package ports_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/operon-framework/operon/internal/tools/ports"
)

// localPortRange limits the ports that a socket gets if it asks for any port: the highest and the lowest, in 16 bits each.
const localPortRange = 51

// The system does not give a reserved port to sockets that ask for any port, neither to listen nor to connect.
func TestReservedIsGivenToNobody(t *testing.T) {
	t.Parallel()
	port, err := ports.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	only := func(_, _ string, c syscall.RawConn) (err error) {
		controlled := c.Control(func(fd uintptr) {
			bounds := uint32(port.Number)<<16 | uint32(port.Number)
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, localPortRange, int(int32(bounds)))
		})
		return errors.Join(controlled, err)
	}
	anyPort := func() error {
		listener, err := (&net.ListenConfig{Control: only}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
		if err != nil {
			return err
		}
		return listener.Close()
	}
	err = anyPort()
	if errors.Is(err, syscall.ENOPROTOOPT) {
		t.Skip("kernels before 6.3 cannot be made to choose this very port")
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("who listens anywhere: %v", err)
	}
	there, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if connection, err := (&net.Dialer{Control: only}).Dial("tcp4", there.Addr().String()); err == nil {
		t.Errorf("who connects: from %s", connection.LocalAddr())
	}
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	if err := anyPort(); err != nil {
		t.Errorf("a port that was given back: %v", err)
	}
}
