//go:build linux

package nodeinit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/operon-framework/operon/cluster/internal/testaid"
)

// The directory of a cluster may be inside a directory that is replaced for the node, such as /run, and may be a separate file
// system. Its contents are visible, and no temporary mount remains.
func TestNodeInAFolderOfOurs(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testaid.Lacks(t, "mounts need root")
	}
	folder := t.TempDir()
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its mounts
		failed <- seenAnew(folder)
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

func seenAnew(folder string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	err := errors.Join(
		unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""), unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""),
		unix.Mount("tmpfs", folder, "tmpfs", 0, ""), os.MkdirAll(filepath.Join(folder, "home", "node"), 0o700),
		os.Mkdir(filepath.Join(folder, "kept"), 0o700), os.Mkdir(filepath.Join(folder, "anew"), 0o700),
	)
	if err != nil {
		return err
	}
	if err := renew(folder, []string{"anew"}, filepath.Join(folder, "home", "node")); err != nil {
		return err
	}
	for name, want := range map[string]bool{"kept": true, "home/node/view": true, "anew": false} {
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != want {
			return fmt.Errorf("%s: %v, want it %t", name, err, want)
		}
	}
	mounts, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if point := strings.Fields(line)[4]; strings.HasPrefix(point, folder) && strings.Contains(point, "/view") {
			return fmt.Errorf("left: %s", line)
		}
	}
	return nil
}
