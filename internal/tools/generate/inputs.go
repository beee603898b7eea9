package generate

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/glob"
	"github.com/operon-framework/operon/internal/tools/project"
)

// extensions lists the extensions of files in a project that can affect the generated files.
var extensions = []string{".go", ".mod", ".sum", ".work", ".yaml", ".yml", ".json", ".txt", ".tpl", ".mk"}

var makefiles = []string{"Makefile", "makefile", "GNUmakefile", "PROJECT", "LICENSE"}

// inputs returns the files that the generated files in dir can depend on, absolute and sorted: the files of the project, and
// the sources in other directories.
func inputs(dir string, directories []string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != dir && project.Ignored(entry.Name()) {
			return filepath.SkipDir
		}
		if entry.Type().IsRegular() && isInput(entry.Name()) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found = append(found, filesAbove(dir, "go.work", "go.work.sum")...)
	for _, directory := range directories {
		sources, err := glob.In(directory, "*.go")
		if err != nil {
			return nil, err
		}
		found = append(found, slices.DeleteFunc(sources, func(file string) bool { return !isInput(filepath.Base(file)) })...)
		found = append(found, filesAbove(directory, "go.mod", "go.sum")...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

func isInput(name string) bool {
	if strings.HasSuffix(name, "_test.go") {
		return false
	}
	return slices.Contains(extensions, filepath.Ext(name)) || slices.Contains(makefiles, name)
}

// filesAbove returns the nearest files with these names, in dir or a directory above it.
func filesAbove(dir string, names ...string) []string {
	var found []string
	for {
		for _, name := range names {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
				found = append(found, filepath.Join(dir, name))
			}
		}
		if len(found) > 0 || dir == filepath.Dir(dir) {
			return found
		}
		dir = filepath.Dir(dir)
	}
}
