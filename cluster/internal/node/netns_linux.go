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

// network is a network namespace other than the one of this process.
type network struct{ file *os.File }

// networkOf returns the network of a process.
func networkOf(pid int) (network, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	return network{file}, err
}

// do runs f on a thread in the network. A socket stays in the network in which it was opened.
func (n network) do(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter the node's network: %w", err)
		}
		return f()
	})
}

// onThread runs f on a thread of its own, which f may change.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		// The thread is never unlocked, so it ends with this goroutine: no other goroutine runs on it.
		runtime.LockOSThread()
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
