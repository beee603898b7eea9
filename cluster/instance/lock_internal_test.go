package instance

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Who looks whether a cluster runs is not taken for one that does, keeps none from starting,
// and leaves nothing behind.
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

// A cluster starts while others look whether it runs.
func TestStartWhileOthersLook(t *testing.T) {
	home := t.TempDir()
	t.Setenv("OPERON_HOME", home)
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
	done := make(chan struct{})
	var lookers sync.WaitGroup
	defer lookers.Wait()
	defer close(done)
	for range 2 {
		lookers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := held(f.runLock()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 200 {
		s, err := newServer(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
