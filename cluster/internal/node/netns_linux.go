package node

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// network is a network namespace that this process is not in.
type network struct{ file *os.File }

// networkOf is the network of a process.
func networkOf(pid int) (network, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	return network{file}, err
}

// do runs f on a thread that is in the network. A socket stays in the network that it was
// opened in.
func (n network) do(f func() error) error {
	done := make(chan error, 1)
	go func() {
		// The thread is never unlocked, and so ends with this goroutine: nothing else
		// ever runs on it.
		runtime.LockOSThread()
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter the node's network: %w", err)
			return
		}
		done <- f()
	}()
	return <-done
}

func (n network) listen(address netip.AddrPort) (listener net.Listener, err error) {
	err = n.do(func() error {
		listener, err = net.Listen("tcp4", address.String())
		return err
	})
	return listener, err
}

func (n network) dial(ctx context.Context, address string) (conn net.Conn, err error) {
	err = n.do(func() error {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return err
	})
	return conn, err
}
