package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked says that another process holds a lock.
var ErrLocked = errors.New("locked by another process")

// Lock is a lock between processes, held until Unlock or the end of the process, however it ends.
type Lock struct{ file *os.File }

// TryLock takes the lock at path, or returns ErrLocked. What the holder of a lock renames or removes is no lock any more.
func TryLock(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return lockFile(file, path)
}

// TryLockFolder takes the lock of a folder itself, where nobody wants a file for that, or returns ErrLocked.
func TryLockFolder(dir string) (*Lock, error) {
	folder, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return lockFile(folder, dir)
}

// lockFile locks a file, or a folder, that was opened at path.
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

// inPlace tells whether path still names the file: who held the lock before may have renamed or removed it after it was
// opened here.
func inPlace(file *os.File, path string) bool {
	locked, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(locked, named)
}

// WaitLock takes the lock at path, calling waiting once if another process holds it.
func WaitLock(ctx context.Context, path string, waiting func()) (*Lock, error) {
	return waitFor(ctx, func() (*Lock, error) { return TryLock(path) }, waiting)
}

// WaitLockFolder takes the lock of a folder, calling waiting once if another process holds it. A folder that its holder
// removes is an error, fs.ErrNotExist.
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

// Note writes text into the lock's file, for those who find it locked.
func (l *Lock) Note(text string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(text), 0)
	return err
}

// NoteIn reads what the holder of a lock noted, "" when nothing.
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

// Unlock gives the lock back, also where a process that is being started still holds a copy of
// the file.
func (l *Lock) Unlock() error {
	return errors.Join(unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}
