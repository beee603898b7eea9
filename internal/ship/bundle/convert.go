package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Conversion describes a bundle that Convert wrote.
type Conversion struct {
	// Name is the name of the CSV, and Dir the directory of the new bundle.
	Name string `json:"name"`
	Dir  string `json:"dir"`
	// Channels are the channels of the bundle. If it has none, the bundle was not written, because no channel leads to it.
	Channels []string `json:"channels,omitempty"`
	// Changes describe the differences from the original.
	Changes []string `json:"changes,omitempty"`
}

// Convert writes bundles in the layout registry+v1 to out, which must exist: one for each version of the package in dir, or one
// for the bundle in dir. CRDs in v1beta1 and objects of other removed versions are converted to v1, and all other files are copied. If something cannot be read or
// converted, or if a file exists, it fails and writes nothing.
func Convert(ctx context.Context, dir, out string) ([]Conversion, error) {
	found, err := Find(dir)
	if err != nil {
		return nil, err
	}
	set, err := changes.In(out)
	if err != nil {
		return nil, err
	}
	var all []Conversion
	var problems []error
	from := map[string]string{}
	for _, at := range found.Packages {
		p, err := ReadPackage(at)
		if err != nil {
			return nil, err
		}
		problems = append(problems, asErrors(p.Problems)...)
		inChannels := p.ChannelsByCSV()
		for _, b := range p.Bundles {
			if b.CSV != nil {
				b.Channels, b.DefaultChannel = inChannels[b.CSV.Name], p.DefaultChannel
			}
			made, err := b.convert(set, out, from)
			all, problems = append(all, made), append(problems, err)
		}
	}
	for _, at := range found.Bundles {
		b, err := Read(at)
		if err != nil {
			return nil, err
		}
		if !b.Registry() {
			problems = append(problems, fmt.Errorf("%s is one version of a package in the older layout: convert the directory with its *%s file", at, packageSuffix))
			continue
		}
		made, err := b.convert(set, out, from)
		all, problems = append(all, made), append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	_, err = set.Apply(ctx)
	return all, err
}

func asErrors(problems []Problem) []error {
	var all []error
	for _, one := range problems {
		all = append(all, one)
	}
	return all
}

// ChannelsByCSV returns the channels of each version, by the name of its CSV.
func (p *Package) ChannelsByCSV() map[string][]string {
	all := map[string][]string{}
	for _, channel := range p.Channels {
		for _, b := range p.Chain(channel) {
			all[b.CSV.Name] = append(all[b.CSV.Name], channel.Name)
		}
	}
	return all
}

// convert adds the files of the converted bundle to a set. from has the directories of the bundles before, by those of the new ones.
func (b *Bundle) convert(set *changes.Set, out string, from map[string]string) (Conversion, error) {
	if len(b.Problems) > 0 {
		return Conversion{}, errors.Join(asErrors(b.Problems)...)
	}
	made := Conversion{Name: b.CSV.Name, Channels: b.Channels}
	if len(b.Channels) == 0 {
		return made, nil
	}
	version := b.CSV.Spec.Version
	if version == "" || version != path.Base(version) || version == ".." {
		return made, fmt.Errorf("%s: spec.version: %q cannot be the name of a directory", b.at("spec.version"), version)
	}
	dir := path.Join(b.Package, version)
	if other := from[dir]; other != "" {
		return made, fmt.Errorf("%s: the version %s of the package %s is also in %s: convert one of them", b.Dir, version, b.Package, other)
	}
	from[dir] = b.Dir
	made.Dir = filepath.Join(out, filepath.FromSlash(dir))
	for _, file := range slices.Sorted(maps.Keys(b.manifests)) {
		content, err := b.converted(file, &made)
		if err != nil {
			return made, err
		}
		set.Create(path.Join(dir, manifestsDir, path.Base(file)), content)
	}
	for _, file := range slices.Sorted(maps.Keys(b.metadata)) {
		set.Create(path.Join(dir, file), b.metadata[file])
	}
	if _, has := b.metadata[annotationsFile]; !has {
		set.Create(path.Join(dir, annotationsFile), annotationsYAML(b.labelPairs()))
		set.Create(path.Join(dir, "Dockerfile"), dockerfile(b.labelPairs(), false))
		made.Changes = append(made.Changes, annotationsFile+" and Dockerfile are new")
	}
	if !b.Registry() {
		return made, nil
	}
	return made, b.copyRest(set, dir)
}

// copyRest adds the files of metadata and tests that have no meaning for the conversion.
func (b *Bundle) copyRest(set *changes.Set, dir string) error {
	root, err := os.OpenRoot(b.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, top := range []string{metadataDir, path.Dir(testsDir)} {
		if err := fs.WalkDir(root.FS(), top, func(file string, entry fs.DirEntry, err error) error {
			if file == top && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || entry.IsDir() || b.metadata[file] != nil {
				return err
			}
			info, err := entry.Info()
			switch {
			case err != nil:
				return err
			case !info.Mode().IsRegular():
				return fmt.Errorf("%s is neither a file nor a directory: replace it by the file", filepath.Join(b.Dir, file))
			case info.Size() > maxFileSize:
				return fmt.Errorf("%s has more than %d MiB", filepath.Join(b.Dir, file), maxFileSize>>20)
			}
			content, err := fs.ReadFile(root.FS(), file)
			if err == nil {
				set.Create(path.Join(dir, file), content)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// converted returns the content of a manifest with its definitions in v1, and other objects of removed versions in those that replace them.
func (b *Bundle) converted(file string, made *Conversion) ([]byte, error) {
	content := b.manifests[file]
	old := slices.ContainsFunc(b.CRDs, func(crd *CRD) bool { return crd.File == file && crd.GetAPIVersion() == crdV1Beta1 })
	older := slices.ContainsFunc(b.Others, func(o project.Object) bool { return o.File == file && contents.Converts(o.GroupVersionKind()) != "" })
	if !old && !older {
		return content, nil
	}
	objects, err := project.Parse(file, content)
	if err != nil {
		return nil, err
	}
	var documents [][]byte
	for _, object := range objects {
		written := object.Unstructured
		if kube.IsCRD(object.Unstructured) && object.GetAPIVersion() == crdV1Beta1 {
			crd := b.definition(object.GetName())
			made.Changes = append(made.Changes, fmt.Sprintf("CustomResourceDefinition %s is in %s", crd.GetName(), apiextensionsv1.SchemeGroupVersion))
			for _, change := range crd.Converted {
				made.Changes = append(made.Changes, crd.GetName()+", "+change)
			}
			if written, err = plain(crd.Typed); err != nil {
				return nil, err
			}
		}
		if contents.Converts(object.GroupVersionKind()) != "" {
			current, change, err := contents.Current(object.Unstructured)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", object.Place(), err)
			}
			written, made.Changes = current, append(made.Changes, change)
		}
		document, err := project.Write(written)
		if err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
	return bytes.Join(documents, []byte("---\n")), nil
}

// plain returns a definition without the fields that only API servers set.
func plain(crd *apiextensionsv1.CustomResourceDefinition) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return nil, err
	}
	delete(fields, "status")
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: fields}, nil
}
