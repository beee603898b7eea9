package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Limits of a catalog. The largest public catalogs have one file of 200 MB.
const (
	maxFile  = 512 << 20
	maxFiles = 100_000

	// maxDocument is the size of one object in YAML: a bundle with its manifests inside has up to some MiB. Its nodes need many times its
	// size in memory.
	maxDocument = 32 << 20
	// maxDepth is the nesting of an object.
	maxDepth = 100
)

// Read reads the catalog in a directory and below it. It fails if the directory cannot be read. All other errors are added to the
// Problems of the catalog and of its packages, and the rest is read. It does not check the packages: see Check.
func Read(dir string) (*Catalog, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no directory %s; name a directory with a catalog", dir)
	}
	if info, failed := os.Stat(dir); err != nil && failed == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; name the directory of the catalog", dir)
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := &reader{dir: dir, files: root.FS(), catalog: &Catalog{}, packages: map[string]*Package{}}
	if err := r.walk(); err != nil {
		return nil, err
	}
	if r.read == 0 {
		return nil, empty(dir)
	}
	r.finish()
	return r.catalog, nil
}

// empty returns the error of a directory without a catalog.
func empty(dir string) error {
	return fmt.Errorf("%s has no catalog in it: want files .yaml or .json with objects of the schemas %s, %s and %s", dir, packageSchema, channelSchema, bundleSchema)
}

type reader struct {
	dir      string
	files    fs.FS
	catalog  *Catalog
	packages map[string]*Package
	// read is the number of files that were read.
	read int
	// visitor is set by Stream: objects and problems are passed on instead of kept.
	visitor *Visitor
}

// finish sorts the packages into the catalog.
func (r *reader) finish() {
	for _, p := range r.packages {
		r.catalog.Packages = append(r.catalog.Packages, p)
	}
	slices.SortFunc(r.catalog.Packages, func(a, b *Package) int { return strings.Compare(a.Name, b.Name) })
}

func (r *reader) walk() error {
	rules := map[string]ignoreRules{}
	return fs.WalkDir(r.files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && rules[path.Dir(name)].ignore(name, entry.IsDir()):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			rules[name], err = readIgnored(r.files, name, rules[path.Dir(name)])
			return err
		case !entry.Type().IsRegular():
			return nil // links are not followed
		}
		switch path.Ext(name) {
		case ".yaml", ".yml", ".json":
			return r.file(name)
		}
		return nil
	})
}

func (r *reader) place(file string, line int) rule.Place {
	return rule.Place{File: filepath.ToSlash(filepath.Join(r.dir, file)), Line: max(line, 1), Column: 1}
}

func (r *reader) problem(at rule.Place, of, format string, values ...any) {
	problem := Problem{at, of, fmt.Sprintf(format, values...)}
	if r.visitor != nil {
		r.visitor.Problem(problem)
		return
	}
	if of == "" {
		r.catalog.Problems = append(r.catalog.Problems, problem)
		return
	}
	p := r.of(of)
	p.Problems = append(p.Problems, problem)
}

// nesting returns the number of levels of a JSON value.
func nesting(raw json.RawMessage) int {
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// separator is a line that begins a YAML document.
var separator = []byte("\n---")

// document returns the object of a YAML document and its place, or nothing.
func (r *reader) document(name string, line int, document []byte) (at rule.Place, raw json.RawMessage) {
	if len(document) > maxDocument {
		r.problem(r.place(name, line), "", "%s", tooLarge)
		return at, nil
	}
	var node yamlv3.Node
	if err := yamlv3.Unmarshal(document, &node); err != nil {
		r.problem(r.place(name, line), mentioned(document), "not valid YAML: %v", err)
		return at, nil
	}
	if len(node.Content) == 0 {
		return at, nil
	}
	if where, problem := unwanted(&node, 0); where != nil {
		r.problem(r.place(name, line+where.Line-1), packageOf(node.Content[0]), "%s", problem)
		return at, nil
	}
	raw, err := yaml.YAMLToJSON(document)
	if err != nil {
		r.problem(r.place(name, line), mentioned(document), "not valid YAML: %v", err)
		return at, nil
	}
	return r.place(name, line+node.Content[0].Line-1), raw
}

// unwanted returns the first node that is an alias or too deep, and what is wrong with it. Aliases can make an object of any size from a few
// lines.
func unwanted(node *yamlv3.Node, depth int) (at *yamlv3.Node, problem string) {
	switch {
	case node.Kind == yamlv3.AliasNode:
		return node, fmt.Sprintf("the alias *%s is not allowed in a catalog: repeat the value", node.Value)
	case depth > maxDepth:
		return node, fmt.Sprintf("more than %d levels of nesting", maxDepth)
	}
	for _, child := range node.Content {
		if at, problem := unwanted(child, depth+1); at != nil {
			return at, problem
		}
	}
	return nil, ""
}

// mentioned returns the package of a document that cannot be parsed, as far as its lines show it.
func mentioned(document []byte) string {
	found := map[string]string{}
	for text := range strings.SplitSeq(string(document), "\n") {
		for _, key := range []string{"schema", "package", "name"} {
			if value, ok := strings.CutPrefix(text, key+":"); ok {
				found[key] = strings.Trim(strings.TrimSpace(value), `"'`)
			}
		}
	}
	if found["schema"] == packageSchema {
		return found["name"]
	}
	return found["package"]
}

// packageOf returns the package of an object that is not read, or "".
func packageOf(object *yamlv3.Node) string {
	fields := map[string]string{}
	for i := 0; object.Kind == yamlv3.MappingNode && i+1 < len(object.Content); i += 2 {
		fields[object.Content[i].Value] = object.Content[i+1].Value
	}
	if fields["schema"] == packageSchema {
		return fields["name"]
	}
	return fields["package"]
}

// object adds an object to the catalog.
func (r *reader) object(at rule.Place, raw json.RawMessage) {
	var meta struct{ Schema, Package, Name string }
	if err := json.Unmarshal(raw, &meta); err != nil {
		r.problem(at, meta.Package, "want an object with schema: %s", wrongType(err)) // a field with another type does not hide the package
		return
	}
	if meta.Schema == packageSchema {
		meta.Package = meta.Name
	}
	if meta.Schema == "" {
		r.problem(at, meta.Package, "the object has no schema")
		return
	}
	known := map[string]func(rule.Place, string, json.RawMessage) error{
		packageSchema: r.packageObject, channelSchema: r.channelObject, bundleSchema: r.bundleObject, deprecationSchema: r.deprecationObject,
	}[meta.Schema]
	if known == nil {
		r.catalog.Others = append(r.catalog.Others, Object{meta.Package, raw})
		return
	}
	if meta.Package == "" {
		r.problem(at, "", "the object of schema %s names no package", meta.Schema)
		return
	}
	if err := known(at, meta.Package, raw); err != nil {
		r.problem(at, meta.Package, "%s %s: %v", meta.Schema, meta.Name, err)
	}
}

// of returns a package, which may not have an object of its own yet.
func (r *reader) of(name string) *Package {
	if r.packages[name] == nil {
		r.packages[name] = &Package{Name: name}
	}
	return r.packages[name]
}

func (r *reader) packageObject(at rule.Place, name string, raw json.RawMessage) error {
	p := r.of(name)
	if p.defined {
		return fmt.Errorf("the package is also in %s", p.at)
	}
	p.defined, p.at = true, at
	return decode(raw, p)
}

func (r *reader) channelObject(at rule.Place, name string, raw json.RawMessage) error {
	channel, p := &Channel{at: at}, r.of(name)
	if err := decode(raw, channel); err != nil {
		return err
	}
	if other := p.Channel(channel.Name); other != nil {
		return fmt.Errorf("the channel is also in %s", other.at)
	}
	p.Channels = append(p.Channels, channel)
	return nil
}

func (r *reader) bundleObject(at rule.Place, name string, raw json.RawMessage) error {
	bundle, p := &Bundle{at: at}, r.of(name)
	if err := decode(raw, bundle); err != nil {
		return err
	}
	if other := p.Bundle(bundle.Name); other != nil {
		return fmt.Errorf("the bundle is also in %s", other.at)
	}
	p.Bundles = append(p.Bundles, bundle)
	return nil
}

func (r *reader) deprecationObject(at rule.Place, name string, raw json.RawMessage) error {
	var list struct{ Entries []Deprecation }
	if err := decode(raw, &list); err != nil {
		return err
	}
	p := r.of(name)
	for _, one := range list.Entries {
		one.at = at
		p.Deprecations = append(p.Deprecations, one)
	}
	return nil
}

// decode decodes an object. Two keys that differ in case only are an error, because readers differ in which one they take.
func decode(raw json.RawMessage, into any) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return err
	}
	lower := map[string]string{}
	for key := range keys {
		folded := strings.ToLower(key)
		if other, twice := lower[folded]; twice {
			return fmt.Errorf("the fields %s and %s differ only in case", min(key, other), max(key, other))
		}
		lower[folded] = key
	}
	return json.Unmarshal(raw, into)
}
