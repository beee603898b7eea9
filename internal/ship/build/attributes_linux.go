package build

import "syscall"

// attributes let the go command end, and remove what it is at, also where this process is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
}
