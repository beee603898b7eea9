package ports

import (
	"fmt"
	"os"
	"syscall"
)

// reserve binds a socket without listening. Other programs may bind to the same port if both sides allow the reuse of the
// address. Every Go program that listens does so.
func reserve() (*Port, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	free := func() error { return os.NewSyscallError("close", syscall.Close(socket)) }
	number, err := bind(socket)
	if err != nil {
		_ = free() // the other error is more useful
		return nil, err
	}
	return &Port{Number: number, free: free}, nil
}

func bind(socket int) (number int, err error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	bound, is := name.(*syscall.SockaddrInet4)
	if !is {
		return 0, fmt.Errorf("the socket is bound to %T", name)
	}
	return bound.Port, nil
}
