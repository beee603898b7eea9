package generate

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
	"strings"

	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"

	"github.com/operon-framework/operon/internal/tools/changes"
	"github.com/operon-framework/operon/internal/tools/generate/clients"
	"github.com/operon-framework/operon/internal/tools/generate/crds"
	"github.com/operon-framework/operon/internal/tools/generate/gocrds"
	"github.com/operon-framework/operon/internal/tools/generate/kustomize"
	"github.com/operon-framework/operon/internal/tools/generate/reference"
	"github.com/operon-framework/operon/internal/tools/generate/schema"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Outputs selects the optional outputs that are derived from the generated manifests. Each value is the output
// directory or file, relative to the project; "" disables the output.
type Outputs struct {
	// Docs is the directory for the API's reference in Markdown.
	Docs string
	// Schemas is the directory for JSON schemas for editors.
	Schemas string
	// Manifests is the file with everything that installs the operator.
	Manifests string
	// Helm is the directory for a Helm chart.
	Helm string
	// Kustomize is the directory for a kustomize base.
	Kustomize string
	// Clients is the directory for typed Go clients.
	Clients string
	// GoCRDs is the directory for a Go package with the definitions as values.
	GoCRDs string
	// Image is the operator's container image, and Namespace the namespace in which it runs.
	Image, Namespace string
}

// AddFlags adds a flag for each output. A flag without a value selects the default place.
func (o *Outputs) AddFlags(set *pflag.FlagSet) {
	place := func(value *string, name, usual, usage string) {
		set.StringVar(value, name, "", usage)
		set.Lookup(name).NoOptDefVal = usual
	}
	place(&o.Docs, "docs", "docs/reference", "write the API's reference in Markdown to `DIR`")
	place(&o.Schemas, "schemas", "schemas", "write JSON schemas for editors to `DIR`")
	place(&o.Manifests, "manifests", "dist/install.yaml", "write all that installs the operator to `FILE`")
	place(&o.Helm, "helm", "chart", "write a Helm chart to `DIR`, with edits kept")
	place(&o.Kustomize, "kustomize", kustomize.Default, "write a base for kustomize to `DIR`")
	place(&o.Clients, "clients", "client", "write typed clients, listers and informers in Go to `DIR`")
	place(&o.GoCRDs, "go-crds", "crds", "write the CustomResourceDefinitions as a Go package to `DIR`")
	set.StringVar(&o.Image, "image", "", "image that manifests run, by default the operator's name and :latest")
	set.StringVar(&o.Namespace, "namespace", "", "namespace that manifests install the operator in, by default its name and -system")
}

// described reports whether complete descriptions are needed, even if the definitions have shorter ones.
func (o *Outputs) described() bool { return o.Docs != "" || o.Schemas != "" }

// describe makes the run also generate definitions with complete descriptions, into a separate set.
func (r *run) describe(into *changes.Set) {
	for _, one := range slices.Clone(r.jobs) {
		switch generator := one.generator.(type) {
		case crd.Generator:
			generator.MaxDescLen = nil
			one.generator = generator
		case crds.Generator:
			generator.MaxDescLen = nil
			one.generator = generator
		default:
			continue
		}
		one.into, one.config = into, project.CRDFolder
		r.jobs = append(r.jobs, one)
	}
}

// write adds the outputs to the changes. The set whole has the definitions with their complete descriptions; note receives
// information for the user.
func (o *Outputs) write(ctx context.Context, dir string, whole, set *changes.Set, note func(string)) error {
	// Go values first, because the manifests that install the operator contain definitions, too.
	if err := errors.Join(o.writeGoCRDs(dir, set), o.writeClients(ctx, dir, set), o.writeInstall(dir, set, note)); err != nil || !o.described() {
		return err
	}
	definitions, err := definitionsIn(whole)
	if err != nil {
		return err
	}
	return errors.Join(o.writeDocs(dir, definitions, set), o.writeSchemas(dir, definitions, set))
}

func (o *Outputs) writeDocs(dir string, definitions []*apiextensionsv1.CustomResourceDefinition, set *changes.Set) error {
	if o.Docs == "" {
		return nil
	}
	samples, err := project.ReadFolder(dir, project.SampleFolder)
	if err != nil {
		return err
	}
	input := reference.Input{Definitions: definitions}
	for _, sample := range samples {
		input.Samples = append(input.Samples, sample.Unstructured)
	}
	pages, err := reference.Files(input)
	if err != nil {
		return err
	}
	return replace(dir, o.Docs, reference.Mark, pages, set)
}

func (o *Outputs) writeSchemas(dir string, definitions []*apiextensionsv1.CustomResourceDefinition, set *changes.Set) error {
	if o.Schemas == "" {
		return nil
	}
	schemas, err := schema.Files(definitions)
	if err != nil {
		return err
	}
	return replace(dir, o.Schemas, schema.Mark, schemas, set)
}

func (o *Outputs) writeGoCRDs(dir string, set *changes.Set) error {
	if o.GoCRDs == "" {
		return nil
	}
	folder, err := inProject(o.GoCRDs)
	if err != nil {
		return err
	}
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, name := range set.Paths() {
		content, _ := set.Content(name)
		if definedGroup(content) == "" {
			continue
		}
		found, err := definitionsOf(name, content)
		if err != nil {
			return err
		}
		definitions = append(definitions, found...)
	}
	if len(definitions) == 0 {
		return errors.New("--go-crds: the project has no CRDs: a kind embeds TypeMeta and ObjectMeta, in a package that has a +groupName=… marker")
	}
	sortByName(definitions)
	source, err := gocrds.Source(folder, definitions)
	if err != nil {
		return err
	}
	return replace(dir, folder, gocrds.Mark, map[string][]byte{gocrds.File: source}, set)
}

func (o *Outputs) writeClients(ctx context.Context, dir string, set *changes.Set) error {
	if o.Clients == "" {
		return nil
	}
	folder, err := inProject(o.Clients)
	if err != nil {
		return err
	}
	p, err := project.Identify(dir, project.Options{})
	if err != nil {
		return err
	}
	kinds, err := project.Kinds(dir)
	if err != nil {
		return err
	}
	files, err := clients.Files(ctx, clients.Input{Dir: dir, Module: p.Module.Path, Folder: folder, Kinds: kinds})
	if err != nil {
		return err
	}
	if err := replace(dir, folder, clients.Mark, nil, set); err != nil {
		return err
	}
	for name, content := range files {
		set.Write(name, content) // these may be next to the types, too
	}
	return nil
}

// replace writes files to a directory, and removes all other files in it that have the mark of an earlier run.
func replace(dir, folder, mark string, files map[string][]byte, set *changes.Set) error {
	folder, err := inProject(folder)
	if err != nil {
		return err
	}
	earlier, err := marked(filepath.Join(dir, folder), mark)
	if err != nil {
		return err
	}
	for _, name := range earlier {
		set.Remove(path.Join(folder, name))
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		set.Write(path.Join(folder, name), files[name])
	}
	return nil
}

// inProject returns a path with slashes. It fails if the path is not inside the project.
func inProject(place string) (string, error) {
	if !filepath.IsLocal(place) {
		return "", fmt.Errorf("%s is not in the project: name a place below it", place)
	}
	return filepath.ToSlash(filepath.Clean(place)), nil
}

// marked returns the files below a directory that contain the mark, relative to it. The directory need not exist.
func marked(folder, mark string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(content, []byte(mark)) {
			return err
		}
		name, err := filepath.Rel(folder, file)
		found = append(found, filepath.ToSlash(name))
		return err
	})
	return found, err
}

// definitionsIn reads the CustomResourceDefinitions that generators wrote.
func definitionsIn(set *changes.Set) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range set.Paths() {
		content, _ := set.Content(file)
		found, err := definitionsOf(file, content)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	sortByName(all)
	return all, nil
}

// definitionsOf reads the definitions of one file.
func definitionsOf(file string, content []byte) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	objects, err := project.Parse(file, content)
	if err != nil {
		return nil, err
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, object := range objects {
		crd, err := kube.ReadCRD(object.Unstructured)
		if err != nil {
			return nil, err
		}
		all = append(all, &crd.CustomResourceDefinition)
	}
	return all, nil
}

func sortByName(all []*apiextensionsv1.CustomResourceDefinition) {
	slices.SortFunc(all, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
}
