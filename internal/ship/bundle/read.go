package bundle

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Limits of a bundle. They are far above what the Operator Lifecycle Manager can install: it stores a bundle in a ConfigMap.
const (
	maxFiles    = 1000
	maxFileSize = 16 << 20
	maxSize     = 32 << 20 // of all manifests
)

// Directories and files of the layout registry+v1.
const (
	manifestsDir    = "manifests"
	metadataDir     = "metadata"
	annotationsFile = metadataDir + "/annotations.yaml"

	// DependenciesFile and PropertiesFile are the paths of files that a bundle may have.
	DependenciesFile = metadataDir + "/dependencies.yaml"
	PropertiesFile   = metadataDir + "/properties.yaml"
)

// Read reads the bundle in a directory, in either layout. It fails if the directory cannot be read, or is not a bundle. All other errors
// are added to the Problems of the bundle.
func Read(dir string) (*Bundle, error) {
	root, err := open(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := &reader{Bundle: &Bundle{Dir: dir, manifests: map[string][]byte{}, metadata: map[string][]byte{}}, files: root.FS()}
	manifests := "."
	switch {
	case exists(r.files, metadataDir) || exists(r.files, manifestsDir):
		manifests = manifestsDir
		r.readMetadata()
	case !hasManifests(r.files):
		return nil, fmt.Errorf("%s is not a bundle: it has no directories %s and %s, and no manifests of its own", dir, manifestsDir, metadataDir)
	}
	if err := r.readManifests(manifests); err != nil {
		return nil, err
	}
	return r.Bundle, nil
}

// open opens a directory without access to files outside of it.
func open(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	return root, unreadable(dir, err)
}

// unreadable returns an error that names the directory if it does not exist. It returns other errors unchanged.
func unreadable(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no directory %s; name a directory with a bundle", dir)
		if strings.ContainsAny(filepath.Base(dir), ":@") {
			err = fmt.Errorf("%w; for an image, write its bundle to a directory with `operon bundle pull`", err)
		}
	}
	return err
}

// errIrregular is returned for what is not a file with content: reading a pipe or a device could take forever.
var errIrregular = errors.New("not a regular file")

// openRegular opens a regular file.
func openRegular(files fs.FS, name string) (fs.File, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	return files.Open(name)
}

func exists(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
}

func hasManifests(files fs.FS) bool {
	entries, err := fs.ReadDir(files, ".")
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() && isManifest(e.Name()) })
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) && !describes(name)
}

// reader reads files below the directory of a bundle. Links out of the directory are not followed.
type reader struct {
	*Bundle
	files fs.FS
	// unparsed reports that a manifest could not be read.
	unparsed bool
}

// place returns the name of a file for messages.
func (r *reader) place(name string) string { return filepath.ToSlash(filepath.Join(r.Dir, name)) }

// read returns the content of a file. It returns nil and adds a problem if the file cannot be read.
func (r *reader) read(name string) []byte {
	file, err := openRegular(r.files, name)
	if err != nil {
		r.problem(r.place(name), 1, "cannot be read: %v", reason(err))
		return nil
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	if err != nil {
		r.problem(r.place(name), 1, "cannot be read: %v", reason(err))
		return nil
	}
	if len(content) > maxFileSize {
		r.problem(r.place(name), 1, "has more than %d MiB", maxFileSize>>20)
		return nil
	}
	return content
}

// reason removes the operation and the path from an error of a file.
func reason(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// readManifests reads the objects in a directory. Their compressed size is the size of the bundle.
func (r *reader) readManifests(dir string) error {
	entries, err := fs.ReadDir(r.files, dir)
	if err != nil {
		r.problem(r.place(dir), 1, "the bundle has no directory %s: %v", manifestsDir, reason(err))
		return nil
	}
	if len(entries) > maxFiles {
		return fmt.Errorf("%s has %d files, at most %d are read", r.place(dir), len(entries), maxFiles)
	}
	var size counter
	total := 0
	compressed := gzip.NewWriter(&size)
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if entry.IsDir() || !isManifest(entry.Name()) {
			continue
		}
		content := r.read(name)
		if total += len(content); total > maxSize {
			return fmt.Errorf("%s has more than %d MiB of manifests", r.place(dir), maxSize>>20)
		}
		if _, err := compressed.Write(content); err != nil {
			return err
		}
		r.manifests[r.place(name)] = content
		r.readObjects(name, content)
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	r.size = int64(size)
	if r.CSV == nil && !r.unparsed { // it may be in the file that cannot be read
		r.problem(r.place(dir), 1, "there is no %s of %s", csvKind, csvAPIVersion)
	}
	return nil
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(data []byte) (int, error) {
	*c += counter(len(data))
	return len(data), nil
}

func (r *reader) readObjects(name string, content []byte) {
	objects, err := project.Parse(r.place(name), content)
	for _, problem := range split(err) {
		r.Problems, r.unparsed = append(r.Problems, parsed(r.place(name), problem)), true
	}
	for _, object := range objects {
		switch {
		case object.GetKind() == csvKind:
			r.readCSV(object)
		case kube.IsCRD(object.Unstructured):
			r.readCRD(object)
		default:
			r.Others = append(r.Others, object)
		}
	}
}

// split returns the errors that were joined.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, split(one)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// parsed returns the error of a parser, which begins with file:line, as a problem.
func parsed(file string, err error) Problem {
	text, line := err.Error(), 1
	rest, found := strings.CutPrefix(text, file+":")
	if number, message, ok := strings.Cut(rest, ": "); found && ok {
		if _, err := fmt.Sscan(number, &line); err == nil {
			text = message
		}
	}
	return Problem{rule.Place{File: file, Line: line, Column: 1}, text}
}

func (r *reader) readCSV(object project.Object) {
	if r.CSV != nil {
		r.problem(object.File, object.Line, "a second %s; the first is %s, in %s", csvKind, r.CSV.Name, r.Object.Place())
		return
	}
	if object.GetAPIVersion() != csvAPIVersion {
		r.problem(object.File, object.Line, "apiVersion: want %s, got %s", csvAPIVersion, object.GetAPIVersion())
	}
	r.Object, r.CSV = &object, &CSV{}
	r.Problems = append(r.Problems, decode(object, r.CSV, func(path string) bool {
		return strings.HasPrefix(path, "spec.install.spec.deployments[") && strings.Contains(path, "].spec.")
	})...)
	r.CSV.Name, r.CSV.Annotations, r.CSV.Labels = object.GetName(), object.GetAnnotations(), object.GetLabels()
}

func (r *reader) readCRD(object project.Object) {
	crd := &CRD{Object: object}
	r.CRDs = append(r.CRDs, crd)
	if object.GetAPIVersion() == crdV1Beta1 {
		var err error
		if crd.Typed, crd.Converted, err = convertCRD(object); err != nil {
			r.problem(object.File, object.Line, "%v", err)
		}
		return
	}
	typed := &apiextensionsv1.CustomResourceDefinition{}
	problems := decode(object, typed, func(string) bool { return false })
	if len(problems) == 0 {
		crd.Typed = typed
	}
	r.Problems = append(r.Problems, problems...)
}
