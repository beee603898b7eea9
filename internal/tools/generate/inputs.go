package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/tools/glob"
)

// print is what a file looked like.
type print struct {
	Size int64
	Time time.Time
	// Sum is of the whole file, Head of the part of a Go file that decides which packages there
	// are: up to its last import. Without a Head it is no Go file, or one that cannot be read as such.
	Sum, Head string
}

// extensions are those of files in a project that can make a difference to what is generated.
var extensions = []string{".go", ".mod", ".sum", ".work", ".yaml", ".yml", ".json", ".txt", ".tpl", ".mk"}

var makefiles = []string{"Makefile", "makefile", "GNUmakefile", "PROJECT", "LICENSE"}

// inputs are the files that what is generated in dir can depend on, absolute, in order: those of the
// project, and the sources of packages elsewhere that are no versions in the module cache.
func inputs(dir string, folders []string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != dir && unlisted(entry.Name()) {
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
	for _, folder := range folders {
		if !within(dir, folder) {
			found = append(found, goFilesIn(folder)...)
			found = append(found, filesAbove(folder, "go.mod", "go.sum")...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// unlisted folders hold no packages that a pattern stands for.
func unlisted(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || slices.Contains([]string{"testdata", "node_modules", "bin"}, name)
}

func isInput(name string) bool {
	if strings.HasSuffix(name, "_test.go") {
		return false
	}
	return slices.Contains(extensions, filepath.Ext(name)) || slices.Contains(makefiles, name)
}

func within(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

func goFilesIn(folder string) []string {
	all, err := glob.In(folder, "*.go")
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
}

// filesAbove are the nearest files of these names, in dir or above it.
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

// settled is how old a change has to be before the time of a file tells that there was no other one after it.
const settled = 2 * time.Second

// look returns what the file at path looks like. Where size and time are those of an earlier look, and old enough to
// be trusted, it is not read again.
func look(path string, earlier print, written time.Time) (print, error) {
	info, err := os.Stat(path)
	if err != nil {
		return print{}, err
	}
	now := print{Size: info.Size(), Time: info.ModTime().UTC()}
	if earlier.Sum != "" && earlier.Size == now.Size && earlier.Time.Equal(now.Time) && written.Sub(now.Time) > settled {
		return earlier, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return print{}, err
	}
	now.Sum = sum(content)
	if filepath.Ext(path) == ".go" {
		now.Head = head(content)
	}
	return now, nil
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}

// head is the sum of what stands before a file's declarations.
func head(source []byte) string {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.ImportsOnly)
	if file == nil || file.Name == nil || err != nil {
		return ""
	}
	end := file.Name.End()
	for _, declaration := range file.Decls {
		end = max(end, declaration.End())
	}
	return sum(source[:files.Position(end).Offset])
}

// gone tells that an error says no more than that there is no such file.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
