package image

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

// If a disk becomes full while an image is written, there is one error, and nothing of the image remains.
func TestDisksThatAreFull(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	program := make([]byte, 64<<10) // cannot be compressed
	if _, err := rand.Read(program); err != nil {
		t.Fatal(err)
	}
	made := sample(t, store, string(program), "linux/amd64")
	for what, write := range map[string]func(dir string) error{
		"archive": func(dir string) error {
			return store.WriteArchive(t.Context(), filepath.Join(dir, "image.tar"), named(t, "web:1"), made)
		},
		"layout": func(dir string) error {
			_, err := store.writeLayout(t.Context(), filepath.Join(dir, "layout"), named(t, "web:1"), made, func() {})
			return err
		},
	} {
		err, left := onSmallDisk(t, 16<<10, write)
		if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "write the image to ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
		if len(left) > 0 {
			t.Errorf("%s: left %q", what, left)
		}
	}
}

// onSmallDisk calls write with a directory on a disk of the given size, and returns the entries that remain. The disk exists
// only for one thread, and is removed with it.
func onSmallDisk(t *testing.T, size int, write func(dir string) error) (error, []os.DirEntry) {
	t.Helper()
	dir, done := t.TempDir(), make(chan struct{})
	var denied, result error
	var left []os.DirEntry
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends, and its mount namespace with it
		if denied = mount(dir, size); denied == nil {
			result = write(dir)
			left, denied = os.ReadDir(dir)
		}
	}()
	<-done
	if errors.Is(denied, syscall.EPERM) {
		testaid.Lacks(t, "a disk of the test's own: %v; it takes root", denied)
	}
	if denied != nil {
		t.Fatal(denied)
	}
	return result, left
}

func mount(dir string, size int) error {
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to oneself: %w", err)
	}
	return syscall.Mount("disk", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size))
}
