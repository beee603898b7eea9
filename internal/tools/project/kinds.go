package project

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gobuffalo/flect"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// Kind is one version of a kind that a project's Go sources declare.
type Kind struct {
	// Group, Version and Name define the type of its objects: apiVersion Group/Version, kind Name.
	Group, Version, Name string
	// Plural and Singular are its names in URLs and in kubectl.
	Plural, Singular string
	// ShortNames are additional names for kubectl.
	ShortNames []string
	// Cluster reports that its objects are cluster-scoped.
	Cluster bool
	// Folder is the directory of its Go package, relative to the project, with slashes.
	Folder string
	// File, relative to the project, and Line are the place of the type's declaration.
	File string
	Line int
	// Markers are the markers above the type, in order.
	Markers []Marker
}

// Place returns the place of the type's declaration, as file:line.
func (k Kind) Place() string { return fmt.Sprintf("%s:%d", k.File, k.Line) }

// Has reports whether the type has a marker with this name: kubebuilder:subresource:status.
func (k Kind) Has(marker string) bool {
	return slices.ContainsFunc(k.Markers, func(m Marker) bool { return m.Is(marker) })
}

// Kinds finds the kinds that the Go sources of the module in dir declare, ordered by group, name and version: structs that
// embed TypeMeta and ObjectMeta, in packages whose comments contain +groupName=.
//
// Guarantees: it finds the kinds for which controller-gen generates CustomResourceDefinitions from the whole module. Nothing
// is compiled or type-checked: a thousand files take some tens of milliseconds.
//
// Caveats: a source with errors is read as far as possible, because the compiler reports the errors. Markers with invalid
// arguments are used as far as they can be parsed.
func Kinds(dir string) ([]Kind, error) {
	if err := mustBeFolder(dir); err != nil {
		return nil, err
	}
	var kinds []Kind
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			return nil
		}
		if path != dir && outsideModule(path) {
			return filepath.SkipDir
		}
		found, err := kindsIn(dir, path)
		kinds = append(kinds, found...)
		return err
	})
	slices.SortStableFunc(kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return kinds, err
}

// outsideModule reports whether the go command ignores a directory, or it belongs to another module.
func outsideModule(path string) bool {
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil || Ignored(filepath.Base(path)) || strings.HasPrefix(filepath.Base(path), "_")
}

// Ignored reports whether directories with this name contain neither sources nor manifests of the project that contains them.
func Ignored(name string) bool {
	return len(name) > 1 && name[0] == '.' || slices.Contains([]string{"bin", "vendor", "node_modules", "testdata"}, name)
}

// kindsIn finds the kinds of one package. Most packages declare none, and are only searched for the marker, not parsed.
func kindsIn(root, folder string) ([]Kind, error) {
	sources, err := sourcesIn(folder)
	if err != nil || !slices.ContainsFunc(sources, mentionsGroup) {
		return nil, err
	}
	api := apiPackage{fset: token.NewFileSet()}
	for _, one := range sources {
		api.parse(root, one)
	}
	return api.kinds(root, folder), nil
}

// source is a Go source file.
type source struct {
	path    string
	content []byte
}

func mentionsGroup(s source) bool { return bytes.Contains(s.content, []byte("+groupName")) }

// declares reports whether a file contains a text that all declarations about kinds contain.
func (s source) declares() bool {
	return mentionsGroup(s) || bytes.Contains(s.content, []byte("ObjectMeta")) || bytes.Contains(s.content, []byte("+versionName")) ||
		bytes.Contains(s.content, []byte("+kubebuilder:skip"))
}

func sourcesIn(folder string) ([]source, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var sources []source
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_generated.") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a dangling link, such as those that editors create
		}
		if err != nil {
			return nil, err
		}
		sources = append(sources, source{path: filepath.Join(folder, name), content: content})
	}
	return sources, nil
}

// apiPackage is a Go package with the properties known from its comments and declarations.
type apiPackage struct {
	fset           *token.FileSet
	name           string // of the package
	group, version string
	skipped        bool
	declared       []declaration
}

// declaration is a kind without the properties of its package.
type declaration struct {
	spec    *ast.TypeSpec
	file    string
	markers []Marker
}

func (p *apiPackage) parse(root string, s source) {
	if !s.declares() {
		return
	}
	if matches, err := build.Default.MatchFile(filepath.Dir(s.path), filepath.Base(s.path)); err != nil || !matches {
		return
	}
	tree, _ := parser.ParseFile(p.fset, s.path, s.content, parser.ParseComments|parser.SkipObjectResolution)
	if tree == nil || tree.Name == nil {
		return
	}
	p.name = tree.Name.Name
	file, err := filepath.Rel(root, s.path)
	if err != nil {
		file = s.path
	}
	for _, marker := range p.markers(tree.Comments...) {
		p.learn(marker)
	}
	p.declared = append(p.declared, p.declarations(tree, filepath.ToSlash(file))...)
}

// learn applies a marker about the package.
func (p *apiPackage) learn(marker Marker) {
	name, value, _ := strings.Cut(marker.Text, "=")
	switch name {
	case "groupName":
		p.group = unquote(value)
	case "versionName":
		p.version = unquote(value)
	case "kubebuilder:skip":
		p.skipped = true
	}
}

// declarations returns the kinds of one file.
func (p *apiPackage) declarations(tree *ast.File, file string) []declaration {
	meta := importName(tree, "k8s.io/apimachinery/pkg/apis/meta/v1")
	if meta == "" {
		return nil
	}
	var found []declaration
	before := tree.Name.End()
	for _, one := range tree.Decls {
		general, ok := one.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			before = one.End()
			continue
		}
		for _, each := range general.Specs {
			spec := each.(*ast.TypeSpec)
			if embedsMeta(spec, meta) {
				found = append(found, declaration{spec: spec, file: file, markers: p.markersAbove(tree, before, beginning(general, spec))})
			}
			before = spec.End()
		}
	}
	return found
}

// beginning returns the position where the declaration of a type begins.
func beginning(general *ast.GenDecl, spec *ast.TypeSpec) token.Pos {
	if general.Lparen.IsValid() {
		return spec.Pos()
	}
	return general.Pos()
}

// importName returns the name under which a file imports a package, or "" if it does not import it.
func importName(tree *ast.File, of string) string {
	for _, imported := range tree.Imports {
		path, err := strconv.Unquote(imported.Path.Value)
		if err != nil || path != of {
			continue
		}
		if imported.Name == nil {
			return of[strings.LastIndex(of, "/")+1:]
		}
		return imported.Name.Name
	}
	return ""
}

// embedsMeta reports whether a type is a struct that embeds TypeMeta and ObjectMeta.
func embedsMeta(spec *ast.TypeSpec, meta string) bool {
	body, ok := spec.Type.(*ast.StructType)
	if !ok || spec.Assign.IsValid() {
		return false
	}
	embedded := map[string]bool{}
	for _, field := range body.Fields.List {
		selector, ok := field.Type.(*ast.SelectorExpr)
		if !ok || len(field.Names) > 0 {
			continue
		}
		if from, ok := selector.X.(*ast.Ident); ok && from.Name == meta {
			embedded[selector.Sel.Name] = true
		}
	}
	return embedded["TypeMeta"] && embedded["ObjectMeta"]
}

// kinds combines the properties of the package and its types.
func (p *apiPackage) kinds(root, folder string) []Kind {
	if p.group == "" || p.skipped {
		return nil
	}
	relative, err := filepath.Rel(root, folder)
	if err != nil {
		relative = folder
	}
	var kinds []Kind
	for _, one := range p.declared {
		kind := Kind{
			Group: p.group, Version: cmp.Or(p.version, p.name), Name: one.spec.Name.Name,
			Folder: filepath.ToSlash(relative), File: one.file, Line: p.fset.Position(one.spec.Pos()).Line,
			Markers: one.markers,
		}
		kind.name()
		kinds = append(kinds, kind)
	}
	return kinds
}

// Plural returns the default name of a kind in URLs, as generators of definitions derive it.
func Plural(kind string) string { return strings.ToLower(flect.Pluralize(kind)) }

// resource is controller-gen's definition of the marker.
var resource = markers.Must(markers.MakeDefinition("kubebuilder:resource", markers.DescribesType, crdmarkers.Resource{}))

// name sets the names and the scope of the kind from +kubebuilder:resource, or else the defaults. It ignores invalid markers,
// which controller-gen reports.
func (k *Kind) name() {
	k.Singular = strings.ToLower(k.Name)
	k.Plural = Plural(k.Name)
	for _, marker := range k.Markers {
		if !marker.Is(resource.Name) {
			continue
		}
		value, err := resource.Parse("+" + marker.Text)
		named, ok := value.(crdmarkers.Resource)
		if err != nil || !ok {
			continue
		}
		k.Plural = cmp.Or(named.Path, k.Plural)
		k.Singular = cmp.Or(named.Singular, k.Singular)
		k.Cluster = k.Cluster || named.Scope == "Cluster"
		k.ShortNames = append(k.ShortNames, named.ShortName...)
	}
}
