package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// inTurn calls do, in which a node's components take inotify instances, while no other node of this machine does the same. If
// few instances are left, another waiting node would take those that a node releases for its components (package supervisor,
// watches). The turn ends with its process. If the wait takes too long, do is called anyway.
func inTurn(do func() error) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	parent, err := os.Open(filepath.Join(roots[0], parentGroup))
	if err != nil {
		return err
	}
	defer parent.Close() // ends the turn
	if err := awaitTurn(parent, timing.turnDeadline); err != nil {
		return fmt.Errorf("lock %s: %w", parent.Name(), err)
	}
	return do()
}

func awaitTurn(parent *os.File, patience time.Duration) error {
	for began := time.Now(); time.Since(began) < patience; time.Sleep(timing.turnPeriod) { // the release of a lock sends no event
		err := unix.Flock(int(parent.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
	}
	return nil
}
