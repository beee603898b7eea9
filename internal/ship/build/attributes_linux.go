package build

import "syscall"

// attributes makes the go command end and delete its temporary files, even if this process is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
}
