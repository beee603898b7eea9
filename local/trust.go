package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Trusted returns an error if another user can replace a file: the file and all directories above it must belong to
// this user, to root or to the owner of the running executable, and must not be writable by others, except for the
// owner's private group, whose ID is the owner's. The sticky bit protects the entries of a directory from being
// replaced, but not names that do not exist yet: a file directly in a sticky, world-writable directory is not trusted.
func Trusted(file string) error {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	if real, err = filepath.Abs(real); err != nil {
		return err
	}
	owners := trustedOwners()
	for path, depth := real, 0; ; path, depth = filepath.Dir(path), depth+1 {
		if err := trusts(path, owners, depth > 1); err != nil {
			return err
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// trusts checks one file or directory. sticky reports that the sticky bit compensates for the write permission of
// others.
func trusts(path string, owners []uint32, sticky bool) error {
	var about unix.Stat_t
	if err := unix.Lstat(path, &about); err != nil {
		return &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	if !slices.Contains(owners, about.Uid) {
		return fmt.Errorf("%s belongs to another user (uid %d)", path, about.Uid)
	}
	if about.Mode&unix.S_IWGRP != 0 && about.Gid != about.Uid && (!sticky || about.Mode&unix.S_ISVTX == 0) {
		return fmt.Errorf("%s is writable by its group (gid %d)", path, about.Gid)
	}
	if about.Mode&unix.S_IWOTH != 0 && (!sticky || about.Mode&unix.S_ISVTX == 0) {
		return fmt.Errorf("%s is writable by all users", path)
	}
	return nil
}

// trustedOwners returns the users who can change anything in this process anyway.
func trustedOwners() []uint32 {
	owners := []uint32{0, uint32(os.Geteuid())}
	var about unix.Stat_t
	if executable, err := os.Executable(); err == nil && unix.Stat(executable, &about) == nil {
		owners = append(owners, about.Uid)
	}
	return owners
}
