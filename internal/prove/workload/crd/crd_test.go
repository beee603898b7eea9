package crd_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/prove/workload/crd"
	"github.com/operon-framework/operon/internal/tools/project"
)

func read(t testing.TB, root, file string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := project.ReadFile(root, file)
	if err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for _, object := range objects {
		all = append(all, object.Unstructured)
	}
	return all
}

// kindIn returns the kind of a project in the testdata of package workload, and its first sample.
func kindIn(t testing.TB, name string) (*crd.Kind, *unstructured.Unstructured) {
	t.Helper()
	root := "../testdata/projects/" + name
	kinds, err := crd.Read(read(t, root, "crd.yaml")[0])
	if err != nil || len(kinds) != 1 {
		t.Fatalf("%d kinds served, %v", len(kinds), err)
	}
	for _, object := range read(t, root, "samples.yaml") {
		if object.GroupVersionKind() == kinds[0].GroupVersionKind {
			return kinds[0], object
		}
	}
	t.Fatalf("no sample of %s", kinds[0])
	return nil, nil
}

// All variants that are meant to be invalid are rejected, and most other variants are accepted.
func TestVariants(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"database", "website", "batch"} {
		kind, sample := kindIn(t, name)
		before := sample.DeepCopy()
		var right, taken int
		for _, v := range kind.Variants(sample) {
			err := kind.Admit(v.Object, nil)
			if v.Wrong && err == nil {
				t.Errorf("%s: %s: %s is taken", name, v.Path, v.What)
			}
			if !v.Wrong {
				right++
			}
			if !v.Wrong && err == nil {
				taken++
			}
		}
		if right < 20 || taken*100 < right*75 {
			t.Errorf("%s: only %d of %d variants are taken", name, taken, right)
		}
		if string(must(sample.MarshalJSON())) != string(must(before.MarshalJSON())) {
			t.Errorf("%s: the sample was changed", name)
		}
	}
}

func must(content []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return content
}

// Variants change each field of the schema.
func TestVariantsReachEveryField(t *testing.T) {
	t.Parallel()
	kind, sample := kindIn(t, "database")
	var paths []string
	for _, v := range kind.Variants(sample) {
		paths = append(paths, v.Path)
	}
	for _, want := range []string{
		"spec.engine", "spec.instances", "spec.storage.size", "spec.storage.class", "spec.passwordSecret.name", "spec.passwordSecret.key",
		"spec.backup", "spec.backup.schedule", "spec.backup.keep", "spec.backup.suspend", "spec.users", "spec.users[0].name", "spec.users[0].roles",
		"spec.users[0].roles[0]", "spec.parameters.key-a", "spec.parameters.max_connections", "spec.tls",
	} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not changed", want)
		}
	}
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	kind, sample := kindIn(t, "database")
	for name, test := range map[string]struct {
		patch, want string // want is the expected error for a new object
		change      string // the expected error for a change of the sample
	}{
		"as it is":       {`{}`, "", ""},
		"immutable":      {`{engine: mysql}`, "", "the engine cannot be changed"},
		"only grows":     {`{storage: {size: 500Mi}}`, "", "storage cannot shrink"},
		"an even number": {`{instances: 4}`, "an odd number", "an odd number"},
		"two fields":     {`{engine: memory, backup: {schedule: "0 0 * * *"}}`, "cannot be backed up", "cannot be backed up"},
		"no such choice": {`{engine: oracle}`, "Unsupported value", "Unsupported value"},
		"twice in a map": {`{users: [{name: a}, {name: a}]}`, "Duplicate value", "Duplicate value"},
		"unknown fields": {`{nobody: knows}`, "", ""},
		"defaults":       {`{instances: null}`, "", ""},
	} {
		object := sample.DeepCopy()
		var patch map[string]any
		if err := yaml.Unmarshal([]byte(test.patch), &patch); err != nil {
			t.Fatal(err)
		}
		spec := object.Object["spec"].(map[string]any)
		for field, value := range patch {
			if number, ok := value.(float64); ok {
				value = int64(number)
			}
			spec[field] = value
		}
		for _, by := range []struct {
			old  *unstructured.Unstructured
			want string
		}{{nil, test.want}, {sample, test.change}} {
			err := kind.Admit(object, by.old)
			if by.want == "" && err != nil || by.want != "" && (err == nil || !strings.Contains(err.Error(), by.want)) {
				t.Errorf("%s, change %v: %v, want %q", name, by.old != nil, err, by.want)
			}
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for definition, want := range map[string]string{
		`{spec: {versions: nothing}}`:                                                                        "decode CustomResourceDefinition",
		`{spec: {versions: [{name: v1, served: true, storage: true}]}}`:                                      "version v1: it has no schema",
		`{spec: {versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object, $ref: x}}}]}}`: "version v1: ",
	} {
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(definition), &object); err != nil {
			t.Fatal(err)
		}
		if _, err := crd.Read(&unstructured.Unstructured{Object: object}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", definition, err, want)
		}
	}
}

func TestMatching(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"", "^a$", "^[a-z]([-a-z0-9]*[a-z0-9])?$", `^(\d+)(ms|s|m|h)$`, `^v\d+(\.\d+){2}$`, "^(a|b|c)+$", "[^a-z]", `^\S+\s\S+$`, "(?i)^ABC$", "^.{3,5}$", `^(([^:/?#]+):)(//([^/?#]*))?`,
		`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`,
		"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
	} {
		texts := crd.Matching(pattern)
		if len(texts) == 0 {
			t.Errorf("%s: no texts", pattern)
		}
		for _, text := range texts {
			if !regexp.MustCompile(pattern).MatchString(text) {
				t.Errorf("%s: %q does not match", pattern, text)
			}
		}
	}
	if got := crd.Matching("("); got != nil {
		t.Errorf("( is matched by %q", got)
	}
}

func FuzzMatching(f *testing.F) {
	f.Add("^a+(b|c)*$")
	f.Add("((a{1,9}){1,9}){1,9}")
	f.Fuzz(func(t *testing.T, pattern string) {
		for _, text := range crd.Matching(pattern) {
			if len(text) > 10_000 {
				t.Errorf("%q: %d bytes", pattern, len(text))
			}
		}
	})
}

// Any definition is either rejected or evaluated without a panic.
func FuzzVariants(f *testing.F) {
	for _, name := range []string{"database", "website", "batch"} {
		definition := read(f, "../testdata/projects/"+name, "crd.yaml")[0]
		f.Add(must(definition.MarshalJSON()), []byte(`{"spec": {"hosts": ["a"], "users": [{"name": "a"}], "template": {}}}`))
	}
	f.Fuzz(func(t *testing.T, definition, object []byte) {
		var of, sample unstructured.Unstructured
		if yaml.Unmarshal(definition, &of.Object) != nil || sample.UnmarshalJSON(append([]byte(`{"kind":"A","apiVersion":"v1","of":`), append(object, '}')...)) != nil {
			t.Skip()
		}
		inner, ok := sample.Object["of"].(map[string]any)
		if !ok || of.Object == nil {
			t.Skip()
		}
		kinds, err := crd.Read(&of)
		if err != nil {
			t.Skip()
		}
		for _, kind := range kinds {
			variants := kind.Variants(&unstructured.Unstructured{Object: inner})
			for _, v := range variants[:min(len(variants), 10)] {
				_ = kind.Admit(v.Object, nil)
			}
		}
	})
}

// Embedded objects and other rules outside the schema itself are checked, too.
func TestAdmitEmbedded(t *testing.T) {
	t.Parallel()
	kind, sample := kindIn(t, "website")
	for want, change := range map[string]func(spec map[string]any){
		"spec.raw.metadata.name": func(spec map[string]any) {
			spec["raw"] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a/b"}}
		},
		"must be between 0 and 2147483647": func(spec map[string]any) {
			spec["deployment"] = map[string]any{"replicas": int64(1) << 40}
		},
		"spec.raw.kind": func(spec map[string]any) { spec["raw"] = map[string]any{"apiVersion": "v1"} },
	} {
		object := sample.DeepCopy()
		change(object.Object["spec"].(map[string]any))
		for _, old := range []*unstructured.Unstructured{nil, sample} {
			if err := kind.Admit(object, old); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}

func TestStored(t *testing.T) {
	t.Parallel()
	kind, sample := kindIn(t, "database")
	spec := sample.Object["spec"].(map[string]any)
	spec["nobody"], spec["instances"] = "knows", nil
	sample.Object["status"] = map[string]any{"phase": "Up"}
	stored := kind.Stored(sample)
	got := stored.Object["spec"].(map[string]any)
	if _, there := got["nobody"]; there || got["instances"] != int64(1) || got["tls"] != true || stored.Object["status"] != nil {
		t.Errorf("%v", stored.Object)
	}
}
