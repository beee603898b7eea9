package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestALockIsHeldByOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Note("me"); err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("a second: %v", err)
	}
	if got := NoteIn(path); got != "me" {
		t.Errorf("its note is %q", got)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	second, err := TryLock(path)
	if err != nil {
		t.Fatalf("after the first: %v", err)
	}
	second.Unlock()
}

func TestALockIsNotALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(filepath.Join(dir, "lock")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("the target of the link was created")
	}
}

// If a file is locked that was opened before its holder renamed it, the lock has no effect: the next process locks
// another file.
func TestALockThatWasRenamedIsNone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "part")
	holder, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	late, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(path, path+".whole"), holder.Unlock()); err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(late, path); !errors.Is(err, ErrLocked) {
		t.Errorf("who comes late got %v", err)
	}
	next, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	next.Unlock()
}

func TestWaitLockWaitsForTheHolderOrTheContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := WaitLock(ctx, path, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ends: %v", err)
	}
	second, err := WaitLock(t.Context(), path, func() { first.Unlock() })
	if err != nil {
		t.Fatalf("with a holder that lets go: %v", err)
	}
	second.Unlock()
}

// A directory is locked itself, without a file in it. If its holder removes it, a waiting process does not get the lock, even if there is a
// new directory at the path.
func TestALockOfAFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "folder")
	holder := func() *Lock {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := TryLockFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		return lock
	}
	first := holder()
	if _, err := TryLockFolder(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("a second: %v", err)
	}
	_, err := WaitLockFolder(t.Context(), dir, func() {
		if err := errors.Join(os.Remove(dir), first.Unlock()); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("one that is removed: %v", err)
	}
	first = holder()
	late, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700), first.Unlock()); err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(late, dir); !errors.Is(err, ErrLocked) {
		t.Errorf("one that is another by now: %v", err)
	}
	if err := holder().Unlock(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// Who only looks whether a lock is held does not hold it for others who look, and does not create it.
func TestIsHeld(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.lock")
	looks := func(when string, want bool) {
		t.Helper()
		if got, err := isHeld(path); got != want || err != nil {
			t.Errorf("%s: held %t, %v", when, got, err)
		}
	}
	looks("without a file", false)
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was created")
	}
	lock, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	looks("while it is held", true)
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Flock(int(other.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	looks("while another one looks", false)
}
