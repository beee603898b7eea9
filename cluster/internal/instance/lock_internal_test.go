package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A process that checks whether a cluster runs is not mistaken for the cluster, and leaves no files.
func TestLookingHoldsNoLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.lock")
	if is, err := held(path); is || err != nil {
		t.Errorf("a lock that nobody made is held: %v, %v", is, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("looking made the lock's file")
	}
	file, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := held(path); !is || err != nil {
		t.Errorf("held: %v, %v", is, err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	var lookers sync.WaitGroup
	defer lookers.Wait()
	for range 4 {
		lookers.Go(func() {
			for range 2000 {
				if is, err := held(path); is || err != nil {
					t.Errorf("one that looks is taken for the holder: %v, %v", is, err)
					return
				}
			}
		})
	}
}

// A cluster that starts waits for a process that checks whether it runs.
func TestStartWaitsForWhoLooks(t *testing.T) {
	t.Setenv("OPERON_HOME", t.TempDir())
	f, err := openFolder("one")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.spec(), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	looking, err := tryLock(f.runLock())
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newServer(impatient, "one"); !errors.Is(err, errHeld) || !errors.Is(err, context.Canceled) {
		t.Errorf("it did not wait: %v", err)
	}
	if err := looking.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := newServer(t.Context(), "one"); err != nil {
		t.Error(err)
	}
}

// The files of a cluster whose process is starting stay, and the process is found by its lock, also before it has described itself.
func TestStartingProcessIsFound(t *testing.T) {
	t.Parallel()
	f := folder{name: "test", path: filepath.Join(t.TempDir(), "test")}
	if err := os.Mkdir(f.path, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := tryLock(f.runLock())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.stop(t.Context()); err == nil || !strings.Contains(err.Error(), "repeat the command") {
		t.Errorf("stop without a PID: %v", err)
	}
	if err := signLock(lock); err != nil {
		t.Fatal(err)
	}
	if pid := holderOf(f.runLock()); pid != os.Getpid() {
		t.Errorf("the lock is held by %d", pid)
	}
	if err := f.remove(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("remove: %v", err)
	}
	if _, err := os.Stat(f.path); err != nil {
		t.Errorf("the directory: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
}
