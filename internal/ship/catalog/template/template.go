package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/blang/semver/v4"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Schemas of templates.
const (
	basicSchema  = "olm.template.basic"
	semverSchema = "olm.semver"
)

// maxTemplate is the size of a template in bytes.
const maxTemplate = 16 << 20

// Options describe where the bundles of a template are.
type Options struct {
	// Bundles are directories with bundles. A template names them by their images.
	Bundles []string
	// Image is the name of the image of each bundle, as for catalog.Render.
	Image string
	// Read reads the bundle in an image that is not one of Bundles. It reports false for a text that is not the name of an image.
	Read func(image string) (*bundle.Bundle, bool, error)
}

// Expand returns the catalog that a template describes. A bundle in a template is the name of the image of one of the bundles, or else a
// directory with a bundle, relative to the template, or else an image in a registry.
func Expand(path string, o Options) (*catalog.Catalog, error) {
	content, err := read(path)
	if err != nil {
		return nil, err
	}
	var head struct{ Schema string }
	if err := yaml.Unmarshal(content, &head); err != nil {
		return nil, fmt.Errorf("%s is not a template: %w", path, err)
	}
	t := &template{Options: o, path: path, byImage: map[string]*found{}}
	if err := t.find(); err != nil {
		return nil, err
	}
	switch head.Schema {
	case basicSchema:
		return t.basic(content)
	case semverSchema:
		return t.semver(content)
	}
	return nil, fmt.Errorf("%s has the schema %q: want a template with the schema %s or %s, or a directory with bundles", path, head.Schema, basicSchema, semverSchema)
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxTemplate+1))
	if err == nil && len(content) > maxTemplate {
		return nil, fmt.Errorf("%s has more than %d MiB", path, maxTemplate>>20)
	}
	return content, err
}

// template is a template that is being expanded.
type template struct {
	Options
	path    string
	byImage map[string]*found
	// newest is the highest version so far of a template of schema olm.semver. The package has its description and icon.
	newest semver.Version
}

// found is a bundle with its package.
type found struct {
	bundle *catalog.Bundle
	of     *catalog.Package
}

// find reads the bundles that the template can name.
func (t *template) find() error {
	if len(t.Bundles) == 0 {
		return nil
	}
	rendered, err := catalog.Render(t.Bundles, t.Image)
	if err != nil {
		return err
	}
	for _, p := range rendered.Packages {
		for _, b := range p.Bundles {
			if b.Image != "" {
				t.byImage[b.Image] = &found{b, p}
			}
		}
	}
	return nil
}

// resolve returns the bundle that a template names.
func (t *template) resolve(image string, at rule.Place) (*found, error) {
	if image == "" {
		return nil, fmt.Errorf("%s: a bundle has no image", at)
	}
	if known := t.byImage[image]; known != nil {
		return known, nil
	}
	rendered, err := t.render(image)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if len(rendered.Packages) != 1 || len(rendered.Packages[0].Bundles) != 1 {
		return nil, fmt.Errorf("%s: %s has not exactly one bundle", at, image)
	}
	one := &found{rendered.Packages[0].Bundles[0], rendered.Packages[0]}
	t.byImage[image] = one
	return one, nil
}

// render returns a catalog of what a template names: of a directory, or of an image.
func (t *template) render(named string) (*catalog.Catalog, error) {
	dir := filepath.Join(filepath.Dir(t.path), filepath.FromSlash(named))
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return catalog.Render([]string{dir}, t.Image)
	}
	if t.Read != nil {
		if read, is, err := t.Read(named); err != nil {
			return nil, err
		} else if is {
			return catalog.Render(nil, t.Image, read)
		}
	}
	return nil, fmt.Errorf("%s is neither the image of a bundle nor a directory: want the name of an image with its registry and a tag or digest, or a directory; for images that are not pushed yet, name the directories of the bundles after the template, and the pattern of their images with --image", named)
}

func (t *template) place(line int) rule.Place {
	return rule.Place{File: filepath.ToSlash(t.path), Line: max(line, 1), Column: 1}
}

// basic expands a catalog whose bundles have only an image.
func (t *template) basic(content []byte) (*catalog.Catalog, error) {
	var list struct {
		Entries []yamlv3.Node `yaml:"entries"`
	}
	if err := yamlv3.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("%s is not a template: %w", t.path, err)
	}
	var objects []catalog.Located
	var problems []error
	for i := range list.Entries {
		one, err := t.object(&list.Entries[i])
		problems = append(problems, err)
		objects = append(objects, one)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s has no entries", t.path)
	}
	return catalog.New(objects, nil), nil
}

// object returns an object of a basic template, with the bundle that it names.
func (t *template) object(node *yamlv3.Node) (catalog.Located, error) {
	made := catalog.Located{At: t.place(node.Line)}
	text, err := yamlv3.Marshal(node)
	if err != nil {
		return made, err
	}
	if made.Raw, err = yaml.YAMLToJSON(text); err != nil {
		return made, fmt.Errorf("%s: %w", made.At, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(made.Raw, &fields); err != nil {
		return made, fmt.Errorf("%s: want an object with schema: %w", made.At, err)
	}
	var named struct{ Schema, Image string }
	if err := json.Unmarshal(made.Raw, &named); err != nil {
		return made, fmt.Errorf("%s: %w", made.At, err)
	}
	if named.Schema != "olm.bundle" || fields["properties"] != nil {
		return made, nil
	}
	one, err := t.resolve(named.Image, made.At)
	if err != nil {
		return made, err
	}
	made.Raw, err = catalog.Encode(named.Schema, one.bundle)
	return made, err
}

// IsTemplate reports whether a path is a file, and so not a directory with bundles.
func IsTemplate(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path))
}
