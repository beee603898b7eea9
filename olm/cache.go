package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// cacheVariable names the directory for images.
const cacheVariable = "OLM_CACHE_DIR"

// cacheDir returns the directory for images: $OLM_CACHE_DIR, or one in the user's cache, or one for temporary files if the user has no home.
func cacheDir() (string, error) {
	if dir := os.Getenv(cacheVariable); dir != "" {
		return dir, nil
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "operon-olm"), nil
	}
	dir := filepath.Join(os.TempDir(), "operon-olm")
	if err := makePrivate(dir, os.Geteuid()); err != nil {
		return "", fmt.Errorf("the cache of images: %w: set %s to a directory that only you can write", err, cacheVariable)
	}
	return dir, nil
}

// makePrivate creates a directory that nobody but a user can read or write, unless it exists. All users know its name: another one could have created
// it, with images that the manager would install.
func makePrivate(dir string, user int) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if about, ok := info.Sys().(*syscall.Stat_t); !ok || int(about.Uid) != user {
		return fmt.Errorf("%s belongs to another user", dir)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s has the mode %04o, with which other users can use it", dir, mode)
	}
	return nil
}
