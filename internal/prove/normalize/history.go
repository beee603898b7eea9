package normalize

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// HistoryAnnotation of a CustomResourceDefinition names fields of the status that report what happened,
// and not the current state: "status.journal.steps[*].attempts, status.restarts". [*] stands for each element of
// a list or a map. All fields beneath a named field are included.
const HistoryAnnotation = "prove.operon.dev/history"

// History is the set of fields that report what happened. Two runs with the same result may differ in them. The
// zero value is empty.
type History struct {
	fields map[schema.GroupKind][]historic
}

// historic is a field as it was declared.
type historic struct {
	path    string
	matches *regexp.Regexp
}

// HistoryOf returns the history that definitions among some objects declare by [HistoryAnnotation].
//
// An error names each definition and each invalid path: one outside the status, because
// requested fields are never history, or one that no version's schema has.
func HistoryOf(objects ...*unstructured.Unstructured) (History, error) {
	h := History{fields: map[schema.GroupKind][]historic{}}
	var problems []error
	for _, definition := range objects {
		declared, there := definition.GetAnnotations()[HistoryAnnotation]
		if !there || !kube.IsCRD(definition) {
			continue
		}
		crd, err := kube.ReadCRD(definition)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		kind := crd.Defines()
		if h.has(kind) {
			continue // the same definition was passed twice
		}
		for path := range strings.SplitSeq(declared, ",") {
			one, err := historicOf(crd, strings.TrimSpace(path))
			if err != nil {
				problems = append(problems, fmt.Errorf("CustomResourceDefinition %s: annotation %s: %w", definition.GetName(), HistoryAnnotation, err))
				continue
			}
			h.fields[kind] = append(h.fields[kind], one)
		}
	}
	return h, errors.Join(problems...)
}

func (h History) has(kind schema.GroupKind) bool { return len(h.fields[kind]) > 0 }

// revision is a field of the status that the Helm engine writes for any kind: it counts the changes of what the chart renders.
const revision = "status.deployedRelease.revision"

// isRelease reports whether an object is a Secret in which Helm stores a release: it is history, and has times.
func isRelease(object *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(object.Object, "type")
	return kind == "helm.sh/release.v1" && object.GetKind() == "Secret"
}

// tells reports whether a field is history.
func (h History) tells(kind schema.GroupKind, path string) bool {
	return path == revision || slices.ContainsFunc(h.fields[kind], func(one historic) bool { return one.matches.MatchString(path) })
}

// Words returns a sentence for each kind. It names the fields that are not compared.
func (h History) Words() []string {
	var all []string
	for kind, fields := range h.fields {
		var paths []string
		for _, one := range fields {
			paths = append(paths, one.path)
		}
		all = append(all, fmt.Sprintf("not compared in %s: %s (history, declared by %s)", kind.Kind, strings.Join(paths, ", "), HistoryAnnotation))
	}
	slices.Sort(all)
	return all
}

// each stands for each element of a list or a map.
const each = "[*]"

var (
	// ofStatus matches the paths that may be declared.
	ofStatus = regexp.MustCompile(`^status((\.[A-Za-z0-9_$-]+)(\[\*\])*)+$`)
	steps    = regexp.MustCompile(`[A-Za-z0-9_$-]+|\[\*\]`)
)

// anyElement is the regular expression for [each] in the paths of a state: the name or index of an element, or the key of
// a map.
const anyElement = `(\["[^"]*"\]|\[[^\]]*\]|\.[^.\[]+)`

// historicOf parses a path that a CustomResourceDefinition declares.
func historicOf(crd *kube.CRD, path string) (historic, error) {
	switch {
	case path == "":
		return historic{}, errors.New("it holds an empty path")
	case path == "status" || strings.HasPrefix(path, "status["):
		return historic{}, fmt.Errorf("%q is the whole status: name the fields of it that tell what happened", path)
	case !strings.HasPrefix(path, "status."):
		return historic{}, fmt.Errorf("%q is not of the status: what is asked for is never history", path)
	case !ofStatus.MatchString(path):
		return historic{}, fmt.Errorf(`%q cannot be read: write a path as in "status.steps[*].attempts"`, path)
	}
	if !inSchema(crd, steps.FindAllString(path, -1)) {
		return historic{}, fmt.Errorf("%q is in no version's schema ([*] stands for each element of a list or a map)", path)
	}
	text := strings.ReplaceAll(regexp.QuoteMeta(path), regexp.QuoteMeta(each), anyElement)
	return historic{path: path, matches: regexp.MustCompile("^" + text + `($|[.\[])`)}, nil
}

// inSchema reports whether the schema of a version has a field.
func inSchema(crd *kube.CRD, path []string) bool {
	return slices.ContainsFunc(crd.Spec.Versions, func(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return version.Schema != nil && leads(version.Schema.OpenAPIV3Schema, path)
	})
}

// leads reports whether a schema has a field at a path. A schema that preserves unknown fields may have any field.
func leads(at *apiextensionsv1.JSONSchemaProps, path []string) bool {
	if at == nil || len(path) == 0 {
		return at != nil
	}
	if keeps := at.XPreserveUnknownFields; keeps != nil && *keeps && at.Properties == nil {
		return true
	}
	if path[0] != each {
		below, ok := at.Properties[path[0]]
		return ok && leads(&below, path[1:])
	}
	if at.Type == "array" {
		return at.Items != nil && leads(at.Items.Schema, path[1:])
	}
	return at.AdditionalProperties != nil && leads(at.AdditionalProperties.Schema, path[1:])
}
