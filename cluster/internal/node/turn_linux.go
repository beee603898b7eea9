package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// inTurn does what has a node's components take inotify instances, while no other node of
// this machine does: where few are left, those that a node gives to its components would be
// taken by another one that waits for some (package supervisor, watches). The turn ends with its
// process, and where it is long in coming, it is not waited for.
func inTurn(do func() error) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	parent, err := os.Open(filepath.Join(roots[0], parentGroup))
	if err != nil {
		return err
	}
	defer parent.Close() // which ends the turn
	if err := awaitTurn(parent, timing.turnDeadline); err != nil {
		return fmt.Errorf("lock %s: %w", parent.Name(), err)
	}
	return do()
}

func awaitTurn(parent *os.File, patience time.Duration) error {
	for began := time.Now(); time.Since(began) < patience; time.Sleep(timing.turnPeriod) { // a lock tells nobody that it is free
		err := unix.Flock(int(parent.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
	}
	return nil
}
