package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// errHeld means that another process holds a lock.
var errHeld = errors.New("another process holds the lock")

// tryLock takes the lock on the file at path, and creates the file. The lock is released when the file is closed or the process
// ends in any way.
func tryLock(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("the directory for the cluster's state: %w; set OPERON_HOME to another one", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && InPlace(file, path) {
		return file, nil
	}
	file.Close()
	if err == nil {
		return nil, errHeld // removed between open and lock by the process that held it
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errHeld
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// InPlace reports whether path still refers to an open file.
func InPlace(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(opened, named)
}

// lock waits for the lock until ctx ends.
func lock(ctx context.Context, path string) (*os.File, error) {
	for {
		file, err := tryLock(path)
		if !errors.Is(err, errHeld) {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, stillHeld(path, ctx.Err())
		case <-time.After(timing.lockPeriod):
		}
	}
}

// held reports whether another process holds the lock. To check this, it takes a shared lock for a moment, so concurrent checks
// do not mistake each other for the holder.
func held(path string) (bool, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, file.Close()
	}
	if err != nil {
		err = fmt.Errorf("look at lock %s: %w", path, err)
	}
	return false, errors.Join(err, file.Close())
}

// signLock writes the PID of this process into a lock that it holds.
func signLock(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	return err
}

// holderOf returns the PID in a lock, or 0 if the process that holds it has not written it yet.
func holderOf(path string) int {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(content))
	if err != nil {
		return 0
	}
	return pid
}

// stillHeld returns the error of a wait for a lock that ended with a cause.
func stillHeld(path string, cause error) error {
	if pid := holderOf(path); pid != 0 && unix.Kill(pid, 0) == nil { // the PID may be that of an earlier holder
		return fmt.Errorf("%s: %w, with pid %d: %w", path, errHeld, pid, cause)
	}
	return fmt.Errorf("%s: %w: %w", path, errHeld, cause)
}

// released waits until no other process holds the lock.
func released(ctx context.Context, path string) error {
	for {
		is, err := held(path)
		if err != nil || !is {
			return err
		}
		select {
		case <-ctx.Done():
			return stillHeld(path, ctx.Err())
		case <-time.After(timing.lockPeriod):
		}
	}
}
