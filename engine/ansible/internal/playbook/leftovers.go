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
