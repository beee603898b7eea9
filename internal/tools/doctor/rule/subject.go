package rule

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Subject is a project in the form that rules check.
type Subject struct {
	// Dir is the absolute path of the project's directory.
	Dir string
	// Framework is the framework that the project uses.
	Framework project.Framework
	// Definitions are its CustomResourceDefinitions.
	Definitions []*Definition
	// Grants are the permissions for the operator.
	Grants []project.Grant
	// Samples are the objects under config/samples.
	Samples []project.Object
	// Others are the objects in other directories below config: workloads, webhooks.
	Others []project.Object
	// Against holds older definitions by name. The project's definitions must be safe upgrades of them.
	Against map[string]*apiextensionsv1.CustomResourceDefinition
	// Code is its Go code.
	Code *Code

	once map[any]bool
}

// Once reports whether it is called for the first time with a key.
func (s *Subject) Once(key any) bool {
	if s.once == nil {
		s.once = map[any]bool{}
	}
	before := s.once[key]
	s.once[key] = true
	return !before
}

// Definition is a CustomResourceDefinition and its place in a file.
type Definition struct {
	project.Object
	// Typed is the decoded object.
	Typed *apiextensionsv1.CustomResourceDefinition
}

// Manifests are the objects of a project.
type Manifests struct {
	CRDs, Samples []project.Object
	Grants        []project.Grant
}

// New returns a subject of manifests and code. It fails if a definition is not a valid CustomResourceDefinition.
func New(dir string, framework project.Framework, manifests Manifests, code *Code) (*Subject, error) {
	s := &Subject{Dir: dir, Framework: framework, Grants: manifests.Grants, Samples: manifests.Samples, Code: code}
	for _, object := range manifests.CRDs {
		typed, err := Typed(object)
		if err != nil {
			return nil, err
		}
		s.Definitions = append(s.Definitions, &Definition{Object: object, Typed: typed})
	}
	var err error
	s.Others, err = readOthers(dir)
	return s, err
}

// Typed decodes a CustomResourceDefinition.
func Typed(object project.Object) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd, err := kube.ReadCRD(object.Unstructured)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Place(), err)
	}
	return &crd.CustomResourceDefinition, nil
}

// readOthers reads the other directories below config. It skips files that are not objects, such as kustomize patches.
func readOthers(dir string) ([]project.Object, error) {
	var all []project.Object
	err := filepath.WalkDir(filepath.Join(dir, "config"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil
			}
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if known := []string{project.CRDFolder, project.RBACFolder, project.SampleFolder}; slices.Contains(known, filepath.ToSlash(relative)) {
				return fs.SkipDir
			}
			return nil
		}
		if extension := filepath.Ext(path); extension != ".yaml" && extension != ".yml" || strings.HasSuffix(path, "_patch"+extension) {
			return nil
		}
		if objects, err := project.ReadFile(dir, relative); err == nil {
			all = append(all, objects...)
		}
		return nil
	})
	return all, err
}

// At returns the place of a field in a manifest.
func At(object project.Object, field string) Place {
	line, column := object.Locate(field)
	return Place{File: filepath.ToSlash(object.File), Line: line, Column: column}
}

// Kind returns the definition's kind.
func (d *Definition) Kind() string { return d.Typed.Spec.Names.Kind }

// Version is one version of a definition.
type Version struct {
	*Definition
	*apiextensionsv1.CustomResourceDefinitionVersion
	index int
}

// Versions returns the served versions, each with a schema.
func (s *Subject) Versions() []*Version {
	var all []*Version
	for _, d := range s.Definitions {
		for i := range d.Typed.Spec.Versions {
			version := &d.Typed.Spec.Versions[i]
			if version.Served && version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
				all = append(all, &Version{Definition: d, CustomResourceDefinitionVersion: version, index: i})
			}
		}
	}
	return all
}

// OwnVersions returns the versions that the project can change. Definitions whose Go types are in another module, and which
// the project only installs, are left out.
func (s *Subject) OwnVersions() []*Version {
	var all, typed []*Version
	for _, v := range s.Versions() {
		all = append(all, v)
		if s.HasType(v) {
			typed = append(typed, v)
		}
	}
	if len(typed) == 0 {
		return all
	}
	return typed
}

// Path returns the version's own path in the manifest.
func (v *Version) Path() string { return fmt.Sprintf("spec.versions[%d]", v.index) }

// Root returns the schema of the whole object.
func (v *Version) Root() *apiextensionsv1.JSONSchemaProps { return v.Schema.OpenAPIV3Schema }

// Title returns the kind and the version.
func (v *Version) Title() string { return v.Kind() + " " + v.CustomResourceDefinitionVersion.Name }

// Field is one field in a schema.
type Field struct {
	// Version is the version that the schema belongs to.
	Version *Version
	// Steps are the names of the properties that lead to the field; "[]" stands for the items of a list or the values of a map.
	Steps []string
	// Schema is the schema of the field, and Parent the schema that contains it.
	Schema, Parent *apiextensionsv1.JSONSchemaProps

	path string
}

// Name returns the last step that is a name.
func (f *Field) Name() string {
	for i := len(f.Steps) - 1; i >= 0; i-- {
		if f.Steps[i] != "[]" {
			return f.Steps[i]
		}
	}
	return ""
}

func (f *Field) String() string { return strings.ReplaceAll(strings.Join(f.Steps, "."), ".[]", "[]") }

// Fields visits one property of the root, "spec" or "status", and all fields below it.
func (v *Version) Fields(property string, visit func(*Field)) {
	root := v.Root()
	below, ok := root.Properties[property]
	if !ok {
		return
	}
	start := &Field{Version: v, Steps: []string{property}, Schema: &below, Parent: root, path: v.Path() + ".schema.openAPIV3Schema.properties." + property}
	start.walk(visit)
}

func (f *Field) walk(visit func(*Field)) {
	visit(f)
	var names []string
	for name := range f.Schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		below := f.Schema.Properties[name]
		f.to(name, ".properties."+name, &below).walk(visit)
	}
	if items := f.Schema.Items; items != nil && items.Schema != nil {
		f.to("[]", ".items", items.Schema).walk(visit)
	}
	if values := f.Schema.AdditionalProperties; values != nil && values.Schema != nil {
		f.to("[]", ".additionalProperties", values.Schema).walk(visit)
	}
}

func (f *Field) to(step, path string, schema *apiextensionsv1.JSONSchemaProps) *Field {
	return &Field{Version: f.Version, Steps: append(slices.Clone(f.Steps), step), Schema: schema, Parent: f.Schema, path: f.path + path}
}

// PlaceOf returns the place to fix a field: in Go if the type is in the project, else in the manifest.
func (s *Subject) PlaceOf(f *Field) (at Place, also []Place) {
	manifest := At(f.Version.Object, f.path)
	if origin := s.Origin(f.Version.Definition, f.Version.CustomResourceDefinitionVersion.Name, f.Steps); origin != nil {
		return origin.Place, append(origin.Also, manifest)
	}
	return manifest, []Place{At(f.Version.Object, "")}
}

// PlaceOfKind returns the place to fix a problem of a whole kind: its Go type, or a path in the manifest.
func (s *Subject) PlaceOfKind(v *Version, path string) (at Place, also []Place) {
	manifest := At(v.Object, path)
	if origin := s.Origin(v.Definition, v.CustomResourceDefinitionVersion.Name, nil); origin != nil {
		return origin.Place, []Place{manifest, At(v.Object, "")}
	}
	return manifest, []Place{At(v.Object, "")}
}

// ClusterScope is the scope of permissions in the whole cluster.
const ClusterScope = project.ClusterScope

// Below returns a property of the elements of a list.
func (f *Field) Below(name string) *Field {
	elements := f.to("[]", ".items", f.Schema.Items.Schema)
	below := elements.Schema.Properties[name]
	return elements.to(name, ".properties."+name, &below)
}

// HasType reports whether the Go type of a version's kind is in the project.
func (s *Subject) HasType(v *Version) bool {
	return s.Origin(v.Definition, v.CustomResourceDefinitionVersion.Name, nil) != nil
}

// Own reports whether a field belongs to the project: to its Go types or, for a definition without Go types in the project,
// near the top. The project cannot fix fields of types in other modules, such as a PodSpec.
func (s *Subject) Own(f *Field) bool {
	if !s.HasType(f.Version) {
		return len(f.Steps) <= nearTop
	}
	return s.Origin(f.Version.Definition, f.Version.CustomResourceDefinitionVersion.Name, f.Steps) != nil
}

// nearTop is the maximum depth of fields that belong to the project if there is no Go type to decide it.
const nearTop = 3
