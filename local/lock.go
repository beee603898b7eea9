package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked reports that another process holds a lock.
var ErrLocked = errors.New("locked by another process")

// Lock is a lock between processes, held until Unlock or the end of the process.
type Lock struct{ file *os.File }

// TryLock acquires the lock at path, or returns ErrLocked. A lock file that its holder renames or removes is no longer
// a lock. A link at path is not followed: TryLock fails.
func TryLock(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	return lockFile(file, path)
}

// isHeld reports whether a process holds the lock at path. Several may ask at the same time: they do not take each other for the holder.
func isHeld(path string) (bool, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close() // releases the shared lock
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return inPlace(file, path), nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", path, err)
	}
	return false, nil
}

// TryLockFolder locks a directory itself, without a lock file, or returns ErrLocked.
func TryLockFolder(dir string) (*Lock, error) {
	folder, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return lockFile(folder, dir)
}

// lockFile locks a file, or a directory, that was opened at path.
func lockFile(file *os.File, path string) (*Lock, error) {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && inPlace(file, path) {
		return &Lock{file}, nil
	}
	file.Close()
	if err == nil || errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrLocked
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// inPlace reports whether path still names the file: the previous holder may have renamed or removed it after it was opened here.
func inPlace(file *os.File, path string) bool {
	locked, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(locked, named)
}

// WaitLock acquires the lock at path. It calls waiting once if another process holds it.
func WaitLock(ctx context.Context, path string, waiting func()) (*Lock, error) {
	return waitFor(ctx, func() (*Lock, error) { return TryLock(path) }, waiting)
}

// WaitLockFolder acquires the lock of a directory. It calls waiting once if another process holds it. If the
// holder removes the directory, it returns the error fs.ErrNotExist.
func WaitLockFolder(ctx context.Context, dir string, waiting func()) (*Lock, error) {
	return waitFor(ctx, func() (*Lock, error) { return TryLockFolder(dir) }, waiting)
}

func waitFor(ctx context.Context, try func() (*Lock, error), waiting func()) (*Lock, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for first := true; ; first = false {
		lock, err := try()
		if !errors.Is(err, ErrLocked) {
			return lock, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// Note writes text into the file of the lock, for processes that find it locked.
func (l *Lock) Note(text string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(text), 0)
	return err
}

// NoteIn returns the note of a lock's holder, or "" if there is none.
func NoteIn(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 256))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Unlock releases the lock, even if a process that is being started still holds a copy of the file.
func (l *Lock) Unlock() error {
	return errors.Join(unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}
