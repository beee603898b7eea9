package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The inotify instances that the components of a node use: nine were counted, two of them containerd's.
const (
	watchesOfContainerd = 2
	watchesOfOthers     = 8
	// watchesSpare must be available, too, but are released: a node that starts at the same time may just have released instances
	// that its components are about to use.
	watchesSpare = watchesOfOthers
	watchesInAll = watchesOfContainerd + watchesOfOthers + watchesSpare
)

// watches are inotify instances that are reserved for the components. The kernel limits their number for all programs of a user
// together, to 128 by default. A kubelet or kube-proxy that does not get one exits during its start.
type watches []int

// keepWatches reserves inotify instances. It waits if other programs use too many.
func keepWatches(ctx context.Context) (watches, error) {
	ctx, cancel := context.WithTimeout(ctx, timing.watchesDeadline)
	defer cancel()
	var kept watches
	for len(kept) < watchesInAll {
		instance, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err == nil {
			kept = append(kept, instance)
			continue
		}
		if !errors.Is(err, unix.EMFILE) {
			return nil, errors.Join(os.NewSyscallError("inotify_init1", err), kept.give(len(kept)))
		}
		select {
		case <-ctx.Done():
			err := kept.give(len(kept))
			return nil, errors.Join(noWatches(), err)
		case <-time.After(timing.watchesPeriod):
		}
	}
	return kept, kept.give(watchesSpare)
}

// give closes count of them, so a component can use them.
func (w *watches) give(count int) error {
	var errs []error
	for _, instance := range (*w)[:count] {
		errs = append(errs, unix.Close(instance))
	}
	*w = (*w)[count:]
	return errors.Join(errs...)
}

// noWatches returns an error that names the limit and the remedy.
func noWatches() error {
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	if err != nil {
		return err
	}
	return fmt.Errorf("a node needs %d inotify instances to start, and other programs of this user left it fewer of the %s that "+
		"fs.inotify.max_user_instances allows: take other clusters down, or raise it, such as with `sysctl fs.inotify.max_user_instances=1024`",
		watchesInAll, strings.TrimSpace(string(limit)))
}
