package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/operon-framework/operon/cluster/internal/node"
)

// Down stops the cluster and removes all its files except a data directory. It also removes the files of a cluster that was
// killed. It returns an *UnknownError if the cluster does not exist.
func Down(ctx context.Context, name string) (Facts, error) {
	f, err := openFolder(name)
	if err != nil {
		return Facts{}, err
	}
	starting, err := lock(ctx, f.startLock()) // also of a cluster that starts, which has no directory yet, or is not running yet
	if err != nil {
		return Facts{}, err
	}
	defer starting.Close()
	facts, err := Status(name)
	if _, unknown := errors.AsType[*UnknownError](err); unknown {
		return Facts{}, errors.Join(err, os.Remove(f.startLock()))
	}
	if err != nil {
		return Facts{}, err
	}
	if err := f.stop(ctx); err != nil {
		return Facts{}, err
	}
	if facts.MergedInto != "" {
		if err := unmerge(facts, name); err != nil { // Down can be repeated
			return facts, errors.Join(err, os.MkdirAll(f.path, 0o700), f.writeFacts(facts))
		}
	}
	return facts, f.remove()
}

// remove removes all files of a cluster that does not run. The caller must hold the start lock.
func (f folder) remove() error {
	running, err := tryLock(f.runLock())
	if errors.Is(err, errHeld) {
		return fmt.Errorf("cluster %q has a process that is still starting, pid %d: repeat `operon cluster down --cluster %s`", f.name, holderOf(f.runLock()), f.name)
	}
	if err != nil {
		return err
	}
	defer running.Close()
	return f.removeFiles()
}

// removeFiles removes all files. The directory is what a node is found by, so it is removed only when nothing is left of the node.
func (f folder) removeFiles() error {
	if err := node.Clear(f.node()); err != nil {
		return err
	}
	err := os.RemoveAll(f.path)
	for _, file := range []string{f.crashLog(), f.runLock(), f.startLock()} {
		if removeErr := os.Remove(file); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return err
}

// stop stops the process of the cluster, also if it is still starting after the command that started it was killed.
func (f folder) stop(ctx context.Context) error {
	running, err := held(f.runLock())
	if err != nil || !running {
		return err
	}
	facts, err := f.readFacts()
	if err != nil {
		return err
	}
	pid := cmp.Or(facts.PID, holderOf(f.runLock())) // a process that is starting has no facts, one of an older version no PID in the lock
	if pid == 0 {
		return fmt.Errorf("cluster %q has a process that began to start just now: repeat the command", f.name)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("find the process of cluster %q, pid %d: %w", f.name, pid, err)
	}
	defer process.Release()
	if err := f.signal(process, unix.SIGTERM); err != nil {
		return fmt.Errorf("stop cluster %q, pid %d: %w", f.name, pid, err)
	}
	patient, cancel := context.WithTimeout(ctx, timing.stopDeadline)
	defer cancel()
	err = released(patient, f.runLock())
	if ctx.Err() != nil { // it may be storing data
		return fmt.Errorf("cluster %q, pid %d, is still stopping: %w", f.name, pid, context.Cause(ctx))
	}
	if err == nil || patient.Err() == nil {
		return err
	}
	if err := f.signal(process, unix.SIGKILL); err != nil {
		return fmt.Errorf("kill cluster %q, pid %d: %w", f.name, pid, err)
	}
	return released(ctx, f.runLock())
}

// signal sends a signal to the process of the cluster if it still holds its lock. process was found before that is checked. On Linux, it never
// stands for another process that got the same PID later.
func (f folder) signal(process *os.Process, signal os.Signal) error {
	running, err := held(f.runLock())
	if err != nil || !running {
		return err
	}
	if err := process.Signal(signal); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
