package playbook

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// prefix begins the name of the directory of a Python process, and socketName is the socket in it: see python/worker.py.
const (
	prefix     = "operon-ansible-"
	socketName = "runs"
)

// listenIn listens on the socket in dir. The socket gets its name when connections are accepted: the kernel refuses connections between
// bind and listen, and removeLeftovers, in another operator, would take dir for a leftover.
func listenIn(dir string) (*net.UnixListener, error) {
	early := filepath.Join(dir, "new") // no longer than socketName, as paths of sockets are limited
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: early, Net: "unix"})
	if err != nil {
		return nil, err
	}
	socket.SetUnlinkOnClose(false) // so that removeLeftovers knows the directory of an operator that is killed while it stops
	if err := os.Rename(early, filepath.Join(dir, socketName)); err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	return socket, nil
}

// removeLeftovers removes the directories of operators that were killed: nobody listens on their socket. Others are left alone, also
// those that have no socket yet.
func removeLeftovers(temp string) error {
	found, err := fs.Glob(os.DirFS(temp), prefix+"*")
	if err != nil {
		panic(err) // the pattern is valid
	}
	var errs []error
	for _, name := range found {
		dir := filepath.Join(temp, name)
		connection, err := net.Dial("unix", filepath.Join(dir, socketName))
		switch {
		case err == nil:
			errs = append(errs, connection.Close())
		case errors.Is(err, syscall.ECONNREFUSED):
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}
