// Package process builds an operator and runs it as a child process. The child has its own process group, so that Ctrl-C does
// not reach it directly, and its parent can stop it gracefully. On Linux it ends with its parent, even if the parent is
// killed.
//
//	err := process.Build(ctx, dir, "./cmd", binary)
//	operator, err := process.Start(process.Command{Path: binary, Log: log})
//	<-operator.Done()
//	fmt.Println(operator.Exit())
package process

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/operon-framework/operon/internal/tools/up/mount"
)

// Command describes the command to run.
type Command struct {
	// Path is the path of the executable.
	Path string
	// Args are the arguments without the name of the executable.
	Args []string
	// Dir is the working directory.
	Dir string
	// Env is the complete environment.
	Env []string
	// Mounts are directories that only this process sees.
	Mounts []mount.Mount
	// Log receives the output of the process.
	Log *Log
}

// Process is a running child.
type Process struct {
	command *exec.Cmd
	started time.Time
	done    chan struct{}
	exit    Exit
}

// Exit describes how a child ended.
type Exit struct {
	// Code is the exit code, or -1 if a signal ended the child.
	Code int
	// Signal is the signal that ended the child, or 0 if there was none.
	Signal syscall.Signal
	// After is the time for which it ran.
	After time.Duration
}

func (e Exit) String() string {
	after := e.After.Round(10 * time.Millisecond)
	if e.Signal != 0 {
		return fmt.Sprintf("ended by signal %q after %s", e.Signal, after)
	}
	return fmt.Sprintf("exited with code %d after %s", e.Code, after)
}

// Start starts a child.
func Start(c Command) (*Process, error) {
	command := exec.Command(c.Path, c.Args...)
	command.Dir, command.Env = c.Dir, c.Env
	command.Stdout, command.Stderr = c.Log, c.Log
	command.SysProcAttr = attributes()
	if len(c.Mounts) > 0 {
		if err := mount.Before(command, c.Mounts); err != nil {
			return nil, fmt.Errorf("start %s: %w", c.Path, err)
		}
	}
	command.WaitDelay = time.Second // for grandchildren that keep the output open
	p := &Process{command: command, started: time.Now(), done: make(chan struct{})}
	failed := make(chan error)
	go p.run(failed)
	if err := <-failed; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return p, nil
}

// run starts and reaps the child on one thread that exists as long as the child: Linux sends the parent-death signal when the
// thread that started the child ends, not the process.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.command.Start()
	started <- err
	if err != nil {
		return
	}
	err = p.command.Wait()
	p.exit = exitOf(err, time.Since(p.started))
	close(p.done)
}

func exitOf(err error, after time.Duration) Exit {
	exit := Exit{After: after}
	var status *exec.ExitError
	if !errors.As(err, &status) {
		return exit
	}
	exit.Code = status.ExitCode()
	if wait, ok := status.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		exit.Signal = wait.Signal()
	}
	return exit
}

// PID returns the process ID of the child.
func (p *Process) PID() int { return p.command.Process.Pid }

// Started returns the start time of the child.
func (p *Process) Started() time.Time { return p.started }

// Done returns a channel that is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how the child ended. It is valid after Done is closed.
func (p *Process) Exit() Exit { return p.exit }

// Stop requests the child to end, kills the child and the processes that it started after grace, and returns when the child
// has ended.
func (p *Process) Stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	p.signal(syscall.SIGKILL) // the rest of its process group
	<-p.done
}

// Kill kills the child and the processes that it started, and returns when the child has ended.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal sends a signal to the child's process group. It ignores that the group no longer exists.
func (p *Process) signal(signal syscall.Signal) {
	_ = syscall.Kill(-p.PID(), signal)
}
