package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/operon-framework/operon/internal/tools/project"
)

// applied is an object after an earlier step of the workload.
type applied struct {
	ref    Ref
	object *unstructured.Unstructured
}

// step reads one step. A step without a name gets a name that describes its action.
func (r *reader) step(node *yamlv3.Node, at string, before []string) Step {
	var s Step
	says := ""
	did := func(format string, args ...any) { says = fmt.Sprintf(format, args...) }
	r.fields(node, at, map[string]func(*yamlv3.Node, string){
		"name":    func(n *yamlv3.Node, at string) { s.Name = r.text(n, at) },
		"refused": func(n *yamlv3.Node, at string) { s.Refused = r.yes(n, at) },
		"fresh":   func(n *yamlv3.Node, at string) { s.Fresh = r.yes(n, at) },
		"same":    func(n *yamlv3.Node, at string) { s.Same = r.text(n, at) },
		"heal":    func(n *yamlv3.Node, at string) { s.Heal = r.yes(n, at); did("heal") },
		"apply": func(n *yamlv3.Node, at string) {
			s.Apply = append(s.Apply, r.apply(n, at)...)
			did("apply %s", named(s.Apply))
		},
		"patch": func(n *yamlv3.Node, at string) {
			if object := r.patch(n, at); object != nil {
				s.Apply = append(s.Apply, object)
				did("patch %s", RefOf(object))
			}
		},
		"delete": func(n *yamlv3.Node, at string) {
			for _, one := range listOf(n) {
				s.Delete = append(s.Delete, r.ref(behind(one), at))
				did("delete %s", s.Delete[0])
			}
		},
		"fail": func(n *yamlv3.Node, at string) {
			s.Fail = r.failure(n, at)
			did("fail: %s", s.Fail.How)
		},
		"drift": func(n *yamlv3.Node, at string) {
			s.Drift = r.drift(n, at)
			did("drift: %s", s.Drift.Of)
		},
	})
	if s.Name == "" {
		s.Name = unlike(says, before)
	}
	if !s.Refused {
		for _, object := range s.Apply {
			r.remember(object)
		}
	}
	return s
}

// unlike returns a name that no other step has.
func unlike(name string, before []string) string {
	other := name
	for i := 2; name != "" && slices.Contains(before, other); i++ {
		other = fmt.Sprintf("%s (%d)", name, i)
	}
	return other
}

func named(objects []*unstructured.Unstructured) string {
	var all []string
	for _, object := range objects {
		all = append(all, RefOf(object).String())
	}
	return strings.Join(all, ", ")
}

func (r *reader) remember(object *unstructured.Unstructured) {
	r.known = append(slices.DeleteFunc(r.known, func(a applied) bool { return a.ref.is(RefOf(object)) }), applied{RefOf(object), object})
}

// apply reads the objects to apply: files, and objects in the step itself.
func (r *reader) apply(node *yamlv3.Node, at string) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, one := range listOf(node) {
		one = behind(one)
		if one.Kind == yamlv3.MappingNode {
			if object := r.object(one, at); object != nil {
				all = append(all, object)
			}
			continue
		}
		if name := r.text(one, at); name != "" {
			all = append(all, r.manifest(one, at, name)...)
		}
	}
	return cleaned(all)
}

// manifest reads a file or directory. A relative path is relative to the workload's file.
func (r *reader) manifest(node *yamlv3.Node, at, name string) []*unstructured.Unstructured {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.file), name)
	}
	read := project.ReadFile
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		read = project.ReadFolder
	}
	objects, err := read(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		r.wrong(node, at, "%s", err)
		return nil
	}
	var all []*unstructured.Unstructured
	for _, object := range objects {
		all = append(all, object.Unstructured)
	}
	if len(all) == 0 {
		r.wrong(node, at, "no objects in %s", name)
	}
	return all
}

// object reads an object in the step itself.
func (r *reader) object(node *yamlv3.Node, at string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: r.value(node, at)}
	if object.Object == nil {
		return nil
	}
	if _, ok := object.Object["metadata"].(map[string]any); !ok {
		r.wrong(node, at, "an object needs apiVersion, kind and metadata.name")
		return nil
	}
	if err := RefOf(object).complete(); err != nil {
		r.wrong(node, at, "%s", err)
		return nil
	}
	return object
}

// value reads a mapping with the types of the API machinery: integers are int64.
func (r *reader) value(node *yamlv3.Node, at string) map[string]any {
	var loose, value map[string]any
	err := node.Decode(&loose)
	if err == nil {
		var encoded []byte
		if encoded, err = json.Marshal(loose); err == nil {
			err = utiljson.Unmarshal(encoded, &value)
		}
	}
	var unsupported *json.UnsupportedTypeError
	if errors.As(err, &unsupported) {
		err = errors.New("a key is not a string")
	}
	if err != nil {
		r.wrong(node, at, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	return value
}

// patch reads a change of an object that an earlier step applied.
func (r *reader) patch(node *yamlv3.Node, at string) *unstructured.Unstructured {
	of, merge, _ := r.change(node, at, false)
	if of == (Ref{}) {
		return nil
	}
	i := slices.IndexFunc(r.known, func(a applied) bool { return a.ref.is(of) })
	if i < 0 {
		r.wrong(node, at+".of", "no earlier step applies %s; to change what the operator made, write drift", of)
		return nil
	}
	if len(merge) == 0 {
		r.wrong(node, at+".merge", "it changes nothing")
		return nil
	}
	patched := r.known[i].object.DeepCopy()
	patched.Object = merged(patched.Object, merge)
	if after := RefOf(patched); !after.is(of) {
		r.wrong(node, at+".merge", "it makes %s of %s: a name cannot be changed", after, of)
		return nil
	}
	return patched
}

// drift reads a change by another client.
func (r *reader) drift(node *yamlv3.Node, at string) *Drift {
	of, merge, remove := r.change(node, at, true)
	if remove == (len(merge) > 0) {
		r.wrong(node, at, "want either merge or delete: true")
	}
	return &Drift{Of: of, Patch: merge}
}

// change reads {of: Kind/name, merge: {…}}.
func (r *reader) change(node *yamlv3.Node, at string, mayRemove bool) (of Ref, merge map[string]any, remove bool) {
	known := map[string]func(*yamlv3.Node, string){
		"of":    func(n *yamlv3.Node, at string) { of = r.ref(n, at) },
		"merge": func(n *yamlv3.Node, at string) { merge = r.value(n, at) },
	}
	if mayRemove {
		known["delete"] = func(n *yamlv3.Node, at string) { remove = r.yes(n, at) }
	}
	found := len(r.problems)
	r.fields(node, at, known)
	if of == (Ref{}) && len(r.problems) == found {
		r.wrong(node, at+".of", "it is missing: name the object, as in Deployment/web")
	}
	return of, merge, remove
}

// failure reads image-pull, or {how: lost-node, pods: 1}.
func (r *reader) failure(node *yamlv3.Node, at string) *Failure {
	var f Failure
	if node.Kind == yamlv3.ScalarNode {
		f.How = r.text(node, at)
		return &f
	}
	r.fields(node, at, map[string]func(*yamlv3.Node, string){
		"how":  func(n *yamlv3.Node, at string) { f.How = r.text(n, at) },
		"pods": func(n *yamlv3.Node, at string) { f.Pods = r.number(n, at) },
	})
	return &f
}

// ref reads a reference to an object: Kind/name if an earlier step applied an object of that kind or the kind is built into
// Kubernetes, and otherwise with the API version: example.com/v1/Kind/name.
func (r *reader) ref(node *yamlv3.Node, at string) Ref {
	text := r.text(node, at)
	parts := strings.Split(text, "/")
	if slices.Contains(parts, "") {
		if text != "" {
			r.wrong(node, at, "%q names no object: want Kind/name, or example.com/v1/Kind/name", text)
		}
		return Ref{}
	}
	switch len(parts) {
	case 2:
		return r.short(node, at, parts[0], parts[1])
	case 3, 4:
		last := len(parts) - 2
		return Ref{APIVersion: strings.Join(parts[:last], "/"), Kind: parts[last], Name: parts[last+1]}
	}
	r.wrong(node, at, "%q names no object: want Kind/name, or example.com/v1/Kind/name", text)
	return Ref{}
}

// short finds the API version of a kind.
func (r *reader) short(node *yamlv3.Node, at, kind, name string) Ref {
	for _, a := range r.known {
		if a.ref.Kind == kind && a.ref.Name == name {
			return a.ref
		}
	}
	for _, a := range r.known {
		if a.ref.Kind == kind {
			return Ref{APIVersion: a.ref.APIVersion, Kind: kind, Name: name}
		}
	}
	for _, version := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		if stable(version) && scheme.Scheme.Recognizes(version.WithKind(kind)) {
			return Ref{APIVersion: version.String(), Kind: kind, Name: name}
		}
	}
	r.wrong(node, at, "of which version is %s? Write it before the kind: example.com/v1/%s/%s", kind, kind, name)
	return Ref{}
}

// stable reports whether clusters serve a version by default: not alpha, beta or internal.
func stable(version schema.GroupVersion) bool {
	return !strings.Contains(version.Version, "alpha") && !strings.Contains(version.Version, "beta") && version.Version != runtime.APIVersionInternal
}

// merged applies a JSON merge patch to a value and returns it.
func merged(value, patch map[string]any) map[string]any {
	if value == nil {
		value = map[string]any{}
	}
	for key, change := range patch {
		inner, isMap := change.(map[string]any)
		switch {
		case change == nil:
			delete(value, key)
		case isMap:
			below, _ := value[key].(map[string]any)
			value[key] = merged(below, inner)
		default:
			value[key] = change
		}
	}
	return value
}
