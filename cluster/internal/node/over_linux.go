package node

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// awaitOver waits until a connection whose data has ended is closed completely, and returns true: either it broke, which the
// keep-alive probes that Go sends every 15 seconds also detect, or the data to it has ended, too. If it cannot find this out,
// it returns false at once.
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
