package instance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
