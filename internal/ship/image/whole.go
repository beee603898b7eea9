package image

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/operon-framework/operon/local"
)

// writeWhole replaces a file when the new one is complete. Until then, the new file has a hidden name in the same directory, which is
// always the same: the next run overwrites the remains of an interrupted run.
func writeWhole(path string, mode fs.FileMode, write func(io.Writer) error) error {
	part := partOf(path)
	file, lock, err := openPart(part, mode)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err = errors.Join(write(file), file.Close()); err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return nil
}

// WriteFile replaces a file when the new one is complete.
func WriteFile(path string, mode fs.FileMode, content []byte) error {
	return writeWhole(path, mode, bytesTo(content))
}

func partOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
}

// openPart opens an empty part. It fails if another process is writing to it.
func openPart(part string, mode fs.FileMode) (*os.File, *local.Lock, error) {
	if info, err := os.Lstat(part); err == nil && !info.Mode().IsRegular() {
		_ = os.Remove(part) // a link, which would lead elsewhere; if it stays, it cannot be opened
	}
	lock, err := local.TryLock(part)
	if errors.Is(err, local.ErrLocked) {
		return nil, nil, fmt.Errorf("another process is writing %s", part)
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|noFollow, mode)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err != nil {
		return nil, nil, errors.Join(err, lock.Unlock())
	}
	return file, lock, nil
}
