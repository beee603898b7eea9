package instance

import (
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
	facts, err := Status(name)
	if err != nil {
		return Facts{}, err
	}
	f, err := openFolder(name)
	if err != nil {
		return Facts{}, err
	}
	starting, err := lock(ctx, f.startLock())
	if err != nil {
		return Facts{}, err
	}
	defer starting.Close()
	if err := f.stop(ctx); err != nil {
		return Facts{}, err
	}
	if facts.MergedInto != "" {
		err = unmerge(facts, name)
	}
	return facts, errors.Join(err, f.remove())
}

// remove removes all files of a cluster that does not run. The caller must hold the start lock.
func (f folder) remove() error {
	err := errors.Join(node.Clear(f.node()), os.RemoveAll(f.path))
	for _, file := range []string{f.crashLog(), f.runLock(), f.startLock()} {
		if removeErr := os.Remove(file); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return err
}

// stop stops the process of the cluster. The PID is only used while the process holds its lock, so no other process can be
// killed.
func (f folder) stop(ctx context.Context) error {
	facts, err := f.readFacts()
	if err != nil || facts.State != Running {
		return err
	}
	if err := unix.Kill(facts.PID, unix.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("stop cluster %q, pid %d: %w", f.name, facts.PID, err)
	}
	patient, cancel := context.WithTimeout(ctx, timing.stopDeadline)
	defer cancel()
	if released(patient, f.runLock()) == nil {
		return nil
	}
	if err := unix.Kill(facts.PID, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill cluster %q, pid %d: %w", f.name, facts.PID, err)
	}
	return released(ctx, f.runLock())
}
