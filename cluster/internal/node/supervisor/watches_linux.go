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

// What the components of a node take of inotify's instances: nine were counted, two of them containerd's.
const (
	watchesOfContainerd = 2
	watchesOfOthers     = 8
	// watchesSpare are there, too, and left to others: a node that starts at the same time may just have given those back
	// that its components are about to take.
	watchesSpare = watchesOfOthers
	watchesInAll = watchesOfContainerd + watchesOfOthers + watchesSpare
)

// watches are inotify instances that are kept for the components. The kernel lets a user have so many in all programs
// together, 128 where nobody changed that, and a kubelet or kube-proxy that gets none ends when it is half started.
type watches []int

// keepWatches takes them, and waits where others have too many.
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

// give closes some of them, for a component to take.
func (w *watches) give(count int) error {
	var errs []error
	for _, instance := range (*w)[:count] {
		errs = append(errs, unix.Close(instance))
	}
	*w = (*w)[count:]
	return errors.Join(errs...)
}

// noWatches tells what there is too little of, and what to do.
func noWatches() error {
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	if err != nil {
		return err
	}
	return fmt.Errorf("a node needs %d inotify instances to start, and other programs of this user left it fewer of the %s that "+
		"fs.inotify.max_user_instances allows: take other clusters down, or raise it, such as with `sysctl fs.inotify.max_user_instances=1024`",
		watchesInAll, strings.TrimSpace(string(limit)))
}
