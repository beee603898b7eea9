//go:build linux || darwin

package store

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// identity returns the number of a file and the time when it was last changed. No program can set that time, unlike the time of
// modification, which is often the same in all versions of an image.
func identity(path string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return "", &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return fmt.Sprintf("%d %d", stat.Ino, stat.Ctim.Nano()), nil
}
