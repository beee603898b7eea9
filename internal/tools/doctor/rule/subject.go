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

// Subject is a project as rules look at it.
type Subject struct {
	// Dir is the project's directory, absolute.
	Dir string
	// Framework is what it is written with.
	Framework project.Framework
	// Definitions are its CustomResourceDefinitions.
	Definitions []*Definition
	// Grants are the permissions that the operator is to have.
	Grants []project.Grant
	// Samples are the objects under config/samples.
	Samples []project.Object
	// Others are the objects below the rest of config: workloads, webhooks.
	Others []project.Object
	// Against are older definitions by name, which those of the project are to follow.
	Against map[string]*apiextensionsv1.CustomResourceDefinition
	// Code is its Go code.
	Code *Code

	once map[any]bool
}

// Once reports whether it is the first time that it is asked with a key.
func (s *Subject) Once(key any) bool {
	if s.once == nil {
		s.once = map[any]bool{}
	}
	before := s.once[key]
	s.once[key] = true
	return !before
}

// Definition is a CustomResourceDefinition and where it is written.
type Definition struct {
	project.Object
	// Typed is the object.
	Typed *apiextensionsv1.CustomResourceDefinition
}

// Manifests are the objects of a project.
type Manifests struct {
	CRDs, Samples []project.Object
	Grants        []project.Grant
}

// New returns a subject of manifests and code. It fails for a definition that is none.
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

// readOthers reads what lies in the other directories below config. What is no object, such as a patch for
// kustomize, is passed over.
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

// At is the place of a field in a manifest.
func At(object project.Object, field string) Place {
	line, column := object.Locate(field)
	return Place{File: filepath.ToSlash(object.File), Line: line, Column: column}
}

// Kind is the definition's kind.
func (d *Definition) Kind() string { return d.Typed.Spec.Names.Kind }

// Version is one version of a definition.
type Version struct {
	*Definition
	*apiextensionsv1.CustomResourceDefinitionVersion
	index int
}

// Versions are those that are served, each with a schema.
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

// OwnVersions are those Versions that the project can change: not those of definitions whose Go types are in
// another module, and that it only installs.
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

// Path is the version's own path in the manifest.
func (v *Version) Path() string { return fmt.Sprintf("spec.versions[%d]", v.index) }

// Root is the schema of the whole object.
func (v *Version) Root() *apiextensionsv1.JSONSchemaProps { return v.Schema.OpenAPIV3Schema }

// Title names the kind and the version.
func (v *Version) Title() string { return v.Kind() + " " + v.CustomResourceDefinitionVersion.Name }

// Field is one place in a schema.
type Field struct {
	// Version is whose schema it is.
	Version *Version
	// Steps lead to it by names of properties; "[]" are the items of a list or the values of a map.
	Steps []string
	// Schema is what is there, Parent what it is in.
	Schema, Parent *apiextensionsv1.JSONSchemaProps

	path string
}

// Name is the last step that is a name.
func (f *Field) Name() string {
	for i := len(f.Steps) - 1; i >= 0; i-- {
		if f.Steps[i] != "[]" {
			return f.Steps[i]
		}
	}
	return ""
}

func (f *Field) String() string { return strings.ReplaceAll(strings.Join(f.Steps, "."), ".[]", "[]") }

// Fields visits what is below one property of the root, that property included: "spec" or "status".
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

// PlaceOf is where to mend a field: in Go where the type is the project's own, else in the manifest.
func (s *Subject) PlaceOf(f *Field) (at Place, also []Place) {
	manifest := At(f.Version.Object, f.path)
	if origin := s.Origin(f.Version.Definition, f.Version.CustomResourceDefinitionVersion.Name, f.Steps); origin != nil {
		return origin.Place, append(origin.Also, manifest)
	}
	return manifest, []Place{At(f.Version.Object, "")}
}

// PlaceOfKind is where to mend what is about a whole kind: its Go type, or a path in the manifest.
func (s *Subject) PlaceOfKind(v *Version, path string) (at Place, also []Place) {
	manifest := At(v.Object, path)
	if origin := s.Origin(v.Definition, v.CustomResourceDefinitionVersion.Name, nil); origin != nil {
		return origin.Place, []Place{manifest, At(v.Object, "")}
	}
	return manifest, []Place{At(v.Object, "")}
}

// ClusterScope is the scope of what is granted in the whole cluster.
const ClusterScope = project.ClusterScope

// Below is a property of the elements of a list.
func (f *Field) Below(name string) *Field {
	elements := f.to("[]", ".items", f.Schema.Items.Schema)
	below := elements.Schema.Properties[name]
	return elements.to(name, ".properties."+name, &below)
}

// HasType reports whether the Go type of a version's kind is the project's.
func (s *Subject) HasType(v *Version) bool {
	return s.Origin(v.Definition, v.CustomResourceDefinitionVersion.Name, nil) != nil
}

// Own reports whether a field is the project's own: of its Go types, or, of a definition that has none here,
// near the top. Fields of types of other modules, such as a PodSpec, are not for the project to mend.
func (s *Subject) Own(f *Field) bool {
	if !s.HasType(f.Version) {
		return len(f.Steps) <= nearTop
	}
	return s.Origin(f.Version.Definition, f.Version.CustomResourceDefinitionVersion.Name, f.Steps) != nil
}

// nearTop is how deep fields are the project's own where there is no Go type to tell.
const nearTop = 3
