package fast_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A control plane uses few of the inotify instances that all clusters of a user share: one for each of the four certificate
// signers, and one for volume plugins.
func TestFilesAreNotWatched(t *testing.T) {
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	var instances int
	for _, descriptor := range open {
		if target, err := os.Readlink(descriptor); err == nil && target == "anon_inode:inotify" {
			instances++
		}
	}
	if instances < 1 || instances > 5 {
		t.Errorf("%d inotify instances", instances)
	}
}
