// Package process builds an operator and runs it as a child process: in a process group of
// its own, so that a Ctrl-C reaches it only by way of its parent, which can stop it in good
// order, and bound to its parent's life, so that on Linux it ends with it even when the
// parent is killed.
//
//	err := child.Build(ctx, dir, "./cmd", binary)
//	operator, err := child.Start(child.Command{Path: binary, Log: log})
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
)

// Command is what to run.
type Command struct {
	// Path of the executable.
	Path string
	// Args without the name of the executable.
	Args []string
	// Dir is the working directory.
	Dir string
	// Env is the whole environment.
	Env []string
	// Mounts are directories that the process alone sees.
	Mounts []Mount
	// Log gets what the process writes.
	Log *Log
}

// Process is a running child.
type Process struct {
	command *exec.Cmd
	started time.Time
	done    chan struct{}
	exit    Exit
}

// Exit is how a child ended.
type Exit struct {
	// Code of the exit, -1 when a signal ended it.
	Code int
	// Signal that ended it, 0 when none did.
	Signal syscall.Signal
	// After is how long it ran.
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
		if err := enterBy(command, c.Mounts); err != nil {
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

// run starts and reaps the child on one thread that lives as long as the child does: Linux
// sends the parent-death signal when the thread that started it ends, not the process.
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

// PID of the child.
func (p *Process) PID() int { return p.command.Process.Pid }

// Started is when the child was started.
func (p *Process) Started() time.Time { return p.started }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is how the child ended. It is valid once Done is closed.
func (p *Process) Exit() Exit { return p.exit }

// Stop asks the child to end, ends it and what it started by force after grace, and returns when
// it has ended.
func (p *Process) Stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	p.signal(syscall.SIGKILL) // what is left of its group
	<-p.done
}

// Kill ends the child and what it started by force, and returns when it has ended.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal signals the child's process group. That it is gone already is no error.
func (p *Process) signal(signal syscall.Signal) {
	_ = syscall.Kill(-p.PID(), signal)
}
