package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/operon-framework/operon/internal/tools/glob"
	"github.com/operon-framework/operon/local"
)

// Scratch is a store for one run. The store of an interrupted run is removed when the next run begins.
type Scratch struct {
	*Store
	lock *local.Lock
}

// NewScratch creates a Scratch. Close removes it.
func NewScratch(ctx context.Context) (*Scratch, error) {
	folder, err := local.Folder("image")
	if err != nil {
		return nil, err
	}
	all, err := local.WaitLock(ctx, filepath.Join(folder, "lock"), func() {})
	if err != nil {
		return nil, err
	}
	defer all.Unlock()
	if err := sweep(folder); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(folder, "scratch-")
	if err != nil {
		return nil, err
	}
	lock, err := local.TryLock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	store, err := Open(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir), lock.Unlock())
	}
	return &Scratch{store, lock}, nil
}

// sweep removes the stores of runs that have ended. The caller holds the lock of all stores.
func sweep(folder string) error {
	left, err := glob.In(folder, "scratch-*")
	if err != nil {
		return err
	}
	for _, dir := range left {
		lock, err := local.TryLock(filepath.Join(dir, "lock"))
		if errors.Is(err, local.ErrLocked) {
			continue
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		err = os.RemoveAll(dir)
		if lock != nil {
			err = errors.Join(err, lock.Unlock())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Folder returns a directory for files of this run. It also contains the blobs.
func (s *Scratch) Folder() string { return s.dir }

// Close removes the store with all files.
func (s *Scratch) Close() error { return errors.Join(os.RemoveAll(s.dir), s.lock.Unlock()) }
