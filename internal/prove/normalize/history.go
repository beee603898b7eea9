package normalize

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// HistoryAnnotation of a CustomResourceDefinition names fields of the status that tell what happened,
// and not what is: "status.journal.steps[*].attempts, status.restarts". [*] stands for each element of
// a list or a map. All that is beneath a field goes with it.
const HistoryAnnotation = "prove.operon.dev/history"

// History is which fields tell what happened. Two runs that came to the same may differ in them. The
// zero value is none.
type History struct {
	fields map[schema.GroupKind][]historic
}

// historic is a field as it was declared.
type historic struct {
	path    string
	matches *regexp.Regexp
}

// HistoryOf returns what definitions among some objects declare by [HistoryAnnotation].
//
// An error names each definition and path that cannot be meant: one that is not of the status, as
// what is asked for is never history, or that no version's schema has.
func HistoryOf(objects ...*unstructured.Unstructured) (History, error) {
	h := History{fields: map[schema.GroupKind][]historic{}}
	var problems []error
	for _, definition := range objects {
		declared, there := definition.GetAnnotations()[HistoryAnnotation]
		if !there || definition.GetKind() != "CustomResourceDefinition" {
			continue
		}
		kind := schema.GroupKind{}
		kind.Group, _, _ = unstructured.NestedString(definition.Object, "spec", "group")
		kind.Kind, _, _ = unstructured.NestedString(definition.Object, "spec", "names", "kind")
		if h.has(kind) {
			continue // the same definition, given twice
		}
		for path := range strings.SplitSeq(declared, ",") {
			one, err := historicOf(definition, strings.TrimSpace(path))
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

// tells tells whether a field is history.
func (h History) tells(kind schema.GroupKind, path string) bool {
	return slices.ContainsFunc(h.fields[kind], func(one historic) bool { return one.matches.MatchString(path) })
}

// Words say of each kind which fields are not compared.
func (h History) Words() []string {
	var all []string
	for kind, fields := range h.fields {
		var paths []string
		for _, one := range fields {
			paths = append(paths, one.path)
		}
		all = append(all, fmt.Sprintf("not compared of %s: %s, which the definition calls history (%s)", kind.Kind, strings.Join(paths, ", "), HistoryAnnotation))
	}
	slices.Sort(all)
	return all
}

// each stands for each element of a list or a map.
const each = "[*]"

var (
	// ofStatus are paths that may be declared.
	ofStatus = regexp.MustCompile(`^status((\.[A-Za-z0-9_$-]+)(\[\*\])*)+$`)
	steps    = regexp.MustCompile(`[A-Za-z0-9_$-]+|\[\*\]`)
)

// anyElement is [each] in the paths of a state: the name or number of an element, or the key of a map.
const anyElement = `(\["[^"]*"\]|\[[^\]]*\]|\.[^.\[]+)`

// historicOf reads a path that a definition declares.
func historicOf(definition *unstructured.Unstructured, path string) (historic, error) {
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
	if !inSchema(definition, steps.FindAllString(path, -1)) {
		return historic{}, fmt.Errorf("%q is in no version's schema ([*] stands for each element of a list or a map)", path)
	}
	text := strings.ReplaceAll(regexp.QuoteMeta(path), regexp.QuoteMeta(each), anyElement)
	return historic{path: path, matches: regexp.MustCompile("^" + text + `($|[.\[])`)}, nil
}

// inSchema tells whether one of the versions has a field.
func inSchema(definition *unstructured.Unstructured, path []string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	return slices.ContainsFunc(versions, func(version any) bool {
		of, _ := version.(map[string]any)
		root, _, _ := unstructured.NestedMap(of, "schema", "openAPIV3Schema")
		return leads(root, path)
	})
}

// leads tells whether a path leads somewhere in a schema. Where that keeps unknown fields, anything may be.
func leads(at map[string]any, path []string) bool {
	if len(path) == 0 || at["x-kubernetes-preserve-unknown-fields"] == true && at["properties"] == nil {
		return at != nil
	}
	next := []string{"properties", path[0]}
	if path[0] == each {
		next = []string{"additionalProperties"}
		if at["type"] == "array" {
			next = []string{"items"}
		}
	}
	below, there, err := unstructured.NestedMap(at, next...)
	return there && err == nil && leads(below, path[1:])
}
