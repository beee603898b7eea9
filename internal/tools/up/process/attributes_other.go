//go:build !linux

package process

import "syscall"

// attributes puts the child in its own process group. Only on Linux can it also end with its parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
