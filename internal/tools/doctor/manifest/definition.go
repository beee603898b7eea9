package manifest

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Unsafe is the name of the rule that compares definitions with older ones.
const Unsafe = "crd-unsafe"

var crdUnsafe = &rule.Rule{
	Name: Unsafe, Severity: rule.Error,
	About:  "A CRD that is not a safe upgrade of the older one given with --against.",
	Reason: "Stored objects and users' clients are of the older version: fields are dropped, or objects can no longer be written.",
	Fix:    "keep the old version as it was and add a new one; `operon crd check` checks the objects in a cluster",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, d := range s.Definitions {
			if older := s.Against[d.GetName()]; older != nil {
				upgrades(s, older, d, found)
			}
		}
		for _, older := range removed(s) {
			at, also := nearest(s, older)
			found.Add(at, "%s is not a safe upgrade: definition-removed, the project no longer has this CRD, and its objects are lost if it is deleted", older.Name).Also = also
		}
	},
}

// removed returns the older definitions that the project no longer has, also not in another directory below config/crd.
func removed(s *rule.Subject) []*apiextensionsv1.CustomResourceDefinition {
	if len(s.Against) == 0 {
		return nil
	}
	has := map[string]bool{}
	for _, d := range s.Definitions {
		has[d.GetName()] = true
	}
	_ = filepath.WalkDir(filepath.Join(s.Dir, project.CRDFolder), func(file string, _ fs.DirEntry, err error) error {
		if extension := filepath.Ext(file); err == nil && (extension == ".yaml" || extension == ".yml") {
			objects, _ := project.ReadFile("", file) // what cannot be read is not a definition
			for _, object := range objects {
				kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
				has[object.GetName()] = has[object.GetName()] || kind != "" // a patch has no kind
			}
		}
		return nil
	})
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, name := range slices.Sorted(maps.Keys(s.Against)) {
		if !has[name] {
			all = append(all, s.Against[name])
		}
	}
	return all
}

// nearest returns the place of the definition that may have replaced an older one: of the same kind, or else of its group, or
// else any. Without definitions, it is their directory.
func nearest(s *rule.Subject, older *apiextensionsv1.CustomResourceDefinition) (at rule.Place, also []rule.Place) {
	best, most := (*rule.Definition)(nil), -1
	for _, d := range s.Definitions {
		alike := 0
		if d.Typed.Spec.Group == older.Spec.Group {
			alike = 1
		}
		if d.Kind() == older.Spec.Names.Kind {
			alike += 2
		}
		if alike > most {
			best, most = d, alike
		}
	}
	if best == nil {
		return rule.Place{File: project.CRDFolder, Line: 1, Column: 1}, nil
	}
	return rule.At(best.Object, "metadata.name"), append(holders(s, best, "", ""), rule.At(best.Object, ""))
}

// Upgrade adds a finding for each change of a definition that may break stored objects or clients of an older one.
func Upgrade(older *apiextensionsv1.CustomResourceDefinition, d *rule.Definition, found *rule.Findings) {
	upgrades(nil, older, d, found)
}

// upgrades is Upgrade for a definition of a project, or of no project if s is nil.
func upgrades(s *rule.Subject, older *apiextensionsv1.CustomResourceDefinition, d *rule.Definition, found *rule.Findings) {
	compared, err := crdcompat.Compare(older, d.Typed)
	if err != nil {
		found.Add(rule.At(d.Object, ""), "%s: %v", d.GetName(), err)
		return
	}
	for _, one := range compared.Result().Findings {
		at := rule.At(d.Object, placeIn(d, one.Version, one.Path))
		finding := found.Add(at, "%s is not a safe upgrade: %s", d.GetName(), upgrade(one))
		finding.Also = append(holders(s, d, one.Version, one.Path), rule.At(d.Object, ""))
		if slices.Contains(harmless, one.Rule) {
			finding.Severity = rule.Warning
		}
	}
}

// harmless are the rules about changes that no stored object and only some clients notice.
var harmless = []crdcompat.Rule{
	crdcompat.StorageChanged, crdcompat.ConversionAwaited, crdcompat.VersionUnserved, crdcompat.ValidationNarrowed, crdcompat.DefaultChanged,
}

// upgrade describes the effect of a change, without the part that depends on the objects of a cluster.
func upgrade(one *crdcompat.Finding) string {
	message, _, _ := strings.Cut(one.Message, "; no stored object")
	place := strings.TrimSpace(one.Version + " " + one.Path)
	if place == "" {
		return string(one.Rule) + ", " + message
	}
	return fmt.Sprintf("%s at %s, %s", one.Rule, place, message)
}

// holders returns the places in Go where a comment ignores a change of a field: the field and the types that contain it. A change
// without a version is one of the whole kind.
func holders(s *rule.Subject, d *rule.Definition, version, field string) []rule.Place {
	if s == nil {
		return nil
	}
	var all []rule.Place
	for _, one := range d.Typed.Spec.Versions {
		switch {
		case version == "":
			all = append(all, s.Holders(d, one.Name, nil)...)
		case one.Name == version:
			all = append(all, s.Holders(d, version, stepsOf(field))...)
		}
	}
	return all
}

// stepsOf returns the steps of a path such as spec.pages[*].name.
func stepsOf(field string) []string {
	if field == "" {
		return nil
	}
	return strings.Split(strings.ReplaceAll(field, "[*]", ".[]"), ".")
}

// placeIn returns the path in the manifest of a field of a version.
func placeIn(d *rule.Definition, version, field string) string {
	for i, one := range d.Typed.Spec.Versions {
		if one.Name != version {
			continue
		}
		path := fmt.Sprintf("spec.versions[%d]", i)
		if field == "" {
			return path
		}
		path += ".schema.openAPIV3Schema"
		for _, step := range stepsOf(field) {
			if step == "[]" {
				path += ".items"
				continue
			}
			path += ".properties." + step
		}
		return path
	}
	return ""
}

var statusSubresource = &rule.Rule{
	Name: "status-subresource", Severity: rule.Error,
	About:  "A kind with a status but without the status subresource.",
	Reason: "Users overwrite the status when they apply the object, each status write counts as a change of the spec, and the operator's status writes cause conflicts.",
	Fix:    "+kubebuilder:subresource:status above the type",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, v := range s.OwnVersions() {
			if _, has := v.Root().Properties["status"]; has && (v.Subresources == nil || v.Subresources.Status == nil) {
				at, also := s.PlaceOfKind(v, v.Path())
				found.Add(at, "%s has a status but no status subresource", v.Title()).Also = also
			}
		}
	},
}

// conditionsOf returns the schema of the list of conditions in the status, or nil if there is none.
func conditionsOf(v *rule.Version) *apiextensionsv1.JSONSchemaProps {
	conditions, ok := v.Root().Properties["status"].Properties["conditions"]
	if !ok || conditions.Items == nil || conditions.Items.Schema == nil {
		return nil
	}
	if _, typed := conditions.Items.Schema.Properties["type"]; !typed {
		return nil
	}
	return &conditions
}

// hasStatus reports whether the version has a status with fields.
func hasStatus(v *rule.Version) bool {
	status, ok := v.Root().Properties["status"]
	return ok && len(status.Properties) > 0
}

var statusConditions = &rule.Rule{
	Name: "status-conditions", Severity: rule.Warning,
	About:  "A status without conditions.",
	Reason: "kubectl wait, Argo CD, Flux and Helm derive the state of an object from its conditions: without conditions, they consider it ready immediately.",
	Fix:    "Conditions []metav1.Condition `json:\"conditions,omitempty\"` in the status, with a condition Ready",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, v := range s.OwnVersions() {
			if hasStatus(v) && conditionsOf(v) == nil {
				at, also := s.PlaceOfKind(v, v.Path()+".schema.openAPIV3Schema.properties.status")
				found.Add(at, "the status of %s has no conditions", v.Title()).Also = also
			}
		}
	},
}

var observedGeneration = &rule.Rule{
	Name: "observed-generation", Severity: rule.Warning,
	About:  "A status without observedGeneration.",
	Reason: "Right after a change of the spec, the status still describes the previous generation, and clients cannot tell: pipelines continue too early.",
	Fix:    "ObservedGeneration int64 `json:\"observedGeneration,omitempty\"` in the status, set to obj.Generation; conditions of type metav1.Condition also have the field",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, v := range s.OwnVersions() {
			if !hasStatus(v) {
				continue
			}
			status := v.Root().Properties["status"]
			_, has := status.Properties["observedGeneration"]
			if conditions := conditionsOf(v); conditions != nil {
				_, inCondition := conditions.Items.Schema.Properties["observedGeneration"]
				has = has || inCondition
			}
			if !has {
				at, also := s.PlaceOfKind(v, v.Path()+".schema.openAPIV3Schema.properties.status")
				found.Add(at, "the status of %s has no observedGeneration", v.Title()).Also = also
			}
		}
	},
}

var conditionsMap = &rule.Rule{
	Name: "conditions-map", Severity: rule.Warning,
	About:  "Conditions that are a plain list instead of a map keyed by type.",
	Reason: "With server-side apply, two writers that each manage one condition keep replacing each other's list.",
	Fix:    "+listType=map and +listMapKey=type above the field",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, v := range s.OwnVersions() {
			conditions := conditionsOf(v)
			if conditions == nil || conditions.XListType != nil && *conditions.XListType == "map" {
				continue
			}
			v.Fields("status", func(f *rule.Field) {
				if slices.Equal(f.Steps, []string{"status", "conditions"}) {
					at, also := s.PlaceOf(f)
					found.Add(at, "the conditions of %s are not a map keyed by type", v.Title()).Also = also
				}
			})
		}
	},
}
