// Package glob finds files by a pattern in a directory whose own name is not a pattern. In contrast, filepath.Glob finds
// nothing, and returns no error, in a directory such as "web [1]".
package glob

import (
	"io/fs"
	"os"
	"path/filepath"
)

// In returns the paths in dir that match a pattern, including dir, in order. It returns none if dir does not exist.
func In(dir, pattern string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(dir), filepath.ToSlash(pattern))
	for i, name := range found {
		found[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return found, err
}
