package nodeinit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// File descriptors that the init process inherits. The node's programs inherit the last two as 3 and 4.
const (
	lifeFD   = 3 // ends when the cluster's process does
	ordersFD = 4
	reportFD = 5
)

// Main is the main function of the init process. Its arguments are the node's directory and the directories of the node's
// control groups, one for each hierarchy.
func Main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", Name, err)
		os.Exit(1)
	}
}

func run(dir string, groups []string) error {
	for _, fd := range []int{lifeFD, ordersFD, reportFD} {
		unix.CloseOnExec(fd)
	}
	go func() {
		// The data does not matter: the end of the pipe is the message.
		_, err := io.Copy(io.Discard, os.NewFile(lifeFD, "life"))
		fmt.Fprintf(os.Stderr, "%s: the cluster's process ended: %v\n", Name, err)
		os.Exit(0)
	}()
	for _, group := range groups {
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0); err != nil {
			return fmt.Errorf("enter the control group: %w", err)
		}
	}
	if err := view(dir); err != nil {
		return err
	}
	node, err := start(dir)
	if err != nil {
		return err
	}
	return reap(node)
}

// start starts the node's programs. The root of the control groups that they see is the groups of this process.
func start(dir string) (pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	node := exec.Command(self, Verb, dir)
	node.Args[0] = "operon-node"
	node.Stdout, node.Stderr = os.Stdout, os.Stderr
	node.ExtraFiles = []*os.File{os.NewFile(ordersFD, "orders"), os.NewFile(reportFD, "report")}
	node.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWCGROUP}
	if err := node.Start(); err != nil {
		return 0, fmt.Errorf("start the node: %w", err)
	}
	for _, file := range node.ExtraFiles {
		file.Close() // so the reader detects the end of the node's programs
	}
	return node.Process.Pid, nil
}

// reap reaps the processes whose parents have ended, until the node's own process ends.
func reap(node int) error {
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for processes: %w", err)
		case pid == node:
			return fmt.Errorf("the node's process ended: exit code %d, signal %d", status.ExitStatus(), status.Signal())
		case pid == 0:
			<-children
		}
	}
}
