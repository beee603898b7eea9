// Package program finds operon-node, the program that runs the nodes of clusters with containers. It is a program of its own, because most
// clusters have simulated nodes only.
package program

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// name is the name of the program, and variable the environment variable that names it.
const (
	name     = "operon-node"
	variable = "OPERON_NODE_BINARY"
)

// ErrMissing is the error of Find if there is none.
var ErrMissing = errors.New("container nodes need the program operon-node, which is not in the directory of operon-cluster, or may be written by others: put it there, or set OPERON_NODE_BINARY to its path")

// Find returns the path of the program: the one that OPERON_NODE_BINARY names, or else the one in the directory of this executable, unless another
// user may have put it there.
func Find() (string, error) {
	if named := os.Getenv(variable); named != "" {
		if info, err := os.Stat(named); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return "", fmt.Errorf("%s is %s, which is not an executable file", variable, named)
		}
		return named, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(self), name)
	var program, own unix.Stat_t
	if err := errors.Join(unix.Stat(beside, &program), unix.Stat(self, &own)); err != nil {
		return "", ErrMissing
	}
	byGroup := program.Mode&unix.S_IWGRP != 0 && program.Gid != program.Uid // a user's private group has the user's ID
	if program.Mode&0o111 == 0 || program.Uid != own.Uid || byGroup || program.Mode&unix.S_IWOTH != 0 {
		return "", ErrMissing
	}
	return beside, nil
}
