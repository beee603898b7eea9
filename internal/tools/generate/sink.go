package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/operon-framework/operon/internal/tools/changes"
)

// sink collects the output of a generator in a set of changes. It is a genall.OutputRule.
type sink struct {
	job
	dir string
	set *changes.Set
}

var _ genall.OutputRule = sink{}

// Open returns a writer for the file at path: code of a package, or a manifest if pkg is nil.
func (s sink) Open(pkg *loader.Package, path string) (io.WriteCloser, error) {
	folder := s.config
	if pkg != nil {
		folder = s.code
	}
	if pkg != nil && folder == "" {
		if len(pkg.CompiledGoFiles) == 0 {
			return nil, fmt.Errorf("package %s has no directory to write %s to", pkg.PkgPath, path)
		}
		own, err := filepath.Rel(s.dir, filepath.Dir(pkg.CompiledGoFiles[0]))
		if err != nil {
			return nil, err
		}
		folder = own
	}
	version := cmp.Or(s.version, toolsVersion)
	if s.patches {
		version = ""
	}
	return &file{path: filepath.ToSlash(filepath.Join(folder, path)), version: version, set: s.set}, nil
}

// file is one file that is being written.
type file struct {
	bytes.Buffer
	path, version string
	set           *changes.Set
}

// Close passes the file to the set.
func (f *file) Close() error {
	content := f.Bytes()
	if f.version != "" {
		content = attributed(content, f.version)
	}
	f.set.Write(f.path, content)
	return nil
}

// toolsVersion is the version of controller-tools that this module is built with.
const toolsVersion = "v0.23.0"

// attribution matches the line with the generator's version in a CustomResourceDefinition. Controller-tools cannot determine
// its own version as a library: it writes the version of the program.
var attribution = regexp.MustCompile(`(?m)^(    controller-gen\.kubebuilder\.io/version: ).*$`)

func attributed(content []byte, version string) []byte {
	return attribution.ReplaceAll(content, []byte("${1}"+version))
}

// reader reads files that generators name, such as a header file, relative to a directory, and adds their paths to files.
type reader struct {
	dir   string
	files *[]string
}

// OpenForRead opens the file at path.
func (r reader) OpenForRead(path string) (io.ReadCloser, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	*r.files = append(*r.files, path)
	return os.Open(path)
}
