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

// Down stops the cluster and removes everything of it but a data directory. A cluster that
// was killed is cleared. It returns an *UnknownError where there is nothing.
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

// remove leaves nothing of a cluster that does not run. The start lock is held.
func (f folder) remove() error {
	err := errors.Join(node.Clear(f.node()), os.RemoveAll(f.path))
	for _, lock := range []string{f.runLock(), f.startLock()} {
		if removeErr := os.Remove(lock); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return err
}

// stop ends the cluster's process. The pid is trusted only while the lock is held, so no
// other process can be hit.
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
