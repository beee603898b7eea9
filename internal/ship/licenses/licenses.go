// Package licenses collects the license and notice files of everything that is linked into a Go program.
// Apache-2.0, MIT, BSD and most other licenses require that their text, and NOTICE files, accompany a binary.
package licenses

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Standard is the name under which Collect returns the license of Go's standard library.
const Standard = "std"

//go:embed go.txt
var ofGo []byte

// Linked is a package that is linked into a program.
type Linked struct {
	// Module and Package are import paths. Dir is the directory of the package.
	Module, Package, Dir string
}

// File is a license or a notice.
type File struct {
	// Path is the path of the module, the directory in the module and the name of the file, with slashes.
	Path    string
	Content []byte
}

// names matches the names of files that contain licenses, or that licenses require to be passed on.
var names = regexp.MustCompile(`(?i)^(.*[-_.])?((un)?licen[cs]es?|copying|copyright|notices?|patents)([-_.].*)?$`)

// Collect returns the license and notice files for packages, sorted by path: those in the directory of each package and in
// the directories above it, up to the root of its module. The license of Go's standard library is always among them.
func Collect(packages []Linked) ([]File, error) {
	files := []File{{Standard + "/LICENSE", ofGo}}
	seen := map[string]bool{}
	for _, one := range packages {
		within := strings.TrimPrefix(strings.TrimPrefix(one.Package, one.Module), "/")
		for dir := one.Dir; ; dir, within = filepath.Dir(dir), path.Dir(within) {
			at := path.Join(one.Module, within)
			if seen[at] {
				break
			}
			seen[at] = true
			found, err := in(dir, at)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
			if at == one.Module {
				break
			}
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// in reads the files of one directory. It ignores symbolic links, which could lead anywhere.
func in(dir, at string) ([]File, error) {
	listed, err := Names(dir)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, name := range listed {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files = append(files, File{path.Join(at, name), content})
	}
	return files, nil
}

// other lists extensions of files that are not licenses of linked code: source code, and licenses of documentation.
var other = []string{".go", ".docs"}

// Names returns the names of the license and notice files in a directory.
func Names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var found []string
	for _, entry := range entries {
		if entry.Type().IsRegular() && names.MatchString(entry.Name()) && !slices.Contains(other, filepath.Ext(entry.Name())) {
			found = append(found, entry.Name())
		}
	}
	return found, err
}
