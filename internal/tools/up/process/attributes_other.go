//go:build !linux

package process

import "syscall"

// attributes give the child a process group. Only Linux can also end it with its parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
