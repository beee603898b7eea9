// Package glob finds files by a pattern in a directory whose own name is not a pattern: filepath.Glob finds nothing,
// and says nothing, where a project lies in a directory such as "web [1]".
package glob

import (
	"io/fs"
	"os"
	"path/filepath"
)

// In returns the paths of what a pattern matches in dir, with dir before them, in order: nothing where there is no dir.
func In(dir, pattern string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(dir), filepath.ToSlash(pattern))
	for i, name := range found {
		found[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return found, err
}
