//go:build !linux

package mount

import (
	"errors"
	"os/exec"
)

var errNoMounts = errors.New("only Linux shows a process other files than the rest")

// Possible returns an error, because mounts work only on Linux.
func Possible(string) error { return errNoMounts }

// Before returns an error, because mounts work only on Linux.
func Before(*exec.Cmd, []Mount) error { return errNoMounts }
