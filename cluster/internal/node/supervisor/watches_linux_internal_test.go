//go:build linux

package supervisor

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A node that gets too few inotify instances waits for more. Then it reports the setting that limits them, and reserves none.
// The test is not parallel because it uses up the file descriptors of its process, which causes the same kernel error.
func TestTooFewWatches(t *testing.T) {
	before := descriptors(t)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := limit
	few.Cur = uint64(before + watchesOfContainerd + watchesOfOthers) // leaves none for others
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*timing.watchesPeriod)
	defer cancel()
	began := time.Now()
	kept, err := keepWatches(ctx)
	took := time.Since(began)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err == nil || !strings.Contains(err.Error(), "needs 18 inotify instances") || !strings.Contains(err.Error(), "sysctl fs.inotify.max_user_instances=") {
		t.Errorf("error %v", err)
	}
	if took < 2*timing.watchesPeriod {
		t.Errorf("given up after %s", took)
	}
	if after := descriptors(t); len(kept) != 0 || after != before {
		t.Errorf("%d descriptors before, %d after, kept are %v", before, after, kept)
	}
}

// Reserved instances are released for components step by step.
func TestWatchesAreGiven(t *testing.T) {
	kept, err := keepWatches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := descriptors(t)
	for _, count := range []int{watchesOfContainerd, watchesOfOthers} {
		if err := kept.give(count); err != nil {
			t.Error(err)
		}
	}
	if after := descriptors(t); after != before-watchesOfContainerd-watchesOfOthers {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}
