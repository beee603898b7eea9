package node

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// awaitOver returns true when a connection that has said all is over: it broke, which keep-alive probes find out, too,
// that Go has sent every 15 seconds, or what is said to it has ended as well. Where that cannot be known, it returns
// false at once.
func awaitOver(conn net.Conn) bool {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	over := false
	err = raw.Read(func(fd uintptr) bool {
		polled := []unix.PollFd{{Fd: int32(fd)}}
		_, err := unix.Poll(polled, 0)
		over = polled[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		return over || err != nil
	})
	return over && err == nil
}
