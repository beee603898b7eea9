package schema_test

import (
	"bytes"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/generate/schema"
	"github.com/operon-framework/operon/internal/tools/project"
)

// place is the base URL of the schemas.
const place = "file:///schemas/"

// compiler returns a compiler with the schemas of the definitions among objects, and the other objects.
func compiler(t *testing.T, objects []project.Object) (*jsonschema.Compiler, []project.Object) {
	t.Helper()
	var definitions []*apiextensionsv1.CustomResourceDefinition
	var others []project.Object
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			others = append(others, object)
			continue
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
			t.Fatal(err)
		}
		definitions = append(definitions, definition)
	}
	files, err := schema.Files(definitions)
	if err != nil {
		t.Fatal(err)
	}
	known := jsonschema.NewCompiler()
	known.AssertFormat()
	for name, content := range files {
		read, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := known.AddResource(place+name, read); err != nil {
			t.Fatal(err)
		}
	}
	return known, others
}

// check returns the error that an editor shows for a manifest with a schema.
func check(t *testing.T, known *jsonschema.Compiler, file, manifest string) error {
	t.Helper()
	follows, err := known.Compile(place + file)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return follows.Validate(value)
}

func TestSamplesAreRight(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("../../../../examples/*/config")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d examples, %v", len(folders), err)
	}
	for _, folder := range folders {
		definitions, err := project.ReadFolder(folder, "crd")
		if err != nil {
			t.Fatal(err)
		}
		samples, err := project.ReadFolder(folder, "samples")
		if err != nil {
			t.Fatal(err)
		}
		known, _ := compiler(t, definitions)
		for _, sample := range samples {
			gvk := sample.GroupVersionKind()
			text, err := yaml.Marshal(sample.Object)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(gvk.Group, ".") {
				continue // for example, a Secret that belongs to a sample
			}
			own := path.Join(gvk.Group, strings.ToLower(gvk.Kind)+"_"+gvk.Version+".json")
			for _, file := range []string{own, schema.Combined} {
				if err := check(t, known, file, string(text)); err != nil {
					t.Errorf("%s by %s: %v", sample.Place(), file, err)
				}
			}
			wrong := strings.Replace(string(text), "spec:\n", "spec:\n  noSuchField: 1\n", 1)
			if check(t, known, own, wrong) == nil || check(t, known, schema.Combined, wrong) == nil {
				t.Errorf("%s: a field that there is not is taken", sample.Place())
			}
		}
	}
}

// object returns a Shop whose spec has an additional line.
func object(line string) string {
	return "apiVersion: shop.example.com/v1\nkind: Shop\nmetadata:\n  name: x\nspec:\n  host: web\n  " + line + "\n"
}

func TestFields(t *testing.T) {
	t.Parallel()
	objects, err := project.ReadFile("../reference/testdata", "shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known, samples := compiler(t, objects)
	for _, test := range []struct{ name, right, wrong string }{
		{"an unknown field", "replicas: 1", "replica: 1"},
		{"a type", "replicas: 1", "replicas: one"},
		{"the least", "replicas: 0", "replicas: -1"},
		{"the most", "replicas: 100", "replicas: 101"},
		{"an exclusive bound", "load: 0.5", "load: 0"},
		{"an enumeration", "mode: fast", "mode: slow"},
		{"an integer or a string", "port: http", "port: 1.5"},
		{"an integer of the two", "port: 80", "port: true"},
		{"a quantity", "memory: 2Gi", "memory: much"},
		{"null where it may be", "opens: null", "mode: null"},
		{"a time", "opens: 2026-01-01T00:00:00Z", "opens: tomorrow"},
		{"a set", "tags: [a, b]", "tags: [a, a]"},
		{"items", "tags: [a]", "tags: ['']"},
		{"how many items", "tags: [a, b, c, d, e]", "tags: [a, b, c, d, e, f]"},
		{"a map", "labels: {a: b}", "labels: {a: 1}"},
		{"an empty map", "labels: {a: b}", "labels: {}"},
		{"an object in a list", "shelves: [{name: a}]", "shelves: [{wood: oak}]"},
		{"an unknown field in a map", "byRoom: {hall: {name: a}}", "byRoom: {hall: {name: a, size: 1}}"},
		{"an object in an object", "template: {apiVersion: v1, kind: Pod, spec: {}}", "template: {kind: Pod}"},
		{"any fields", "values: {a: {b: c}}", "values: []"},
	} {
		for _, file := range []string{"shop.example.com/shop_v1.json", schema.Combined} {
			if err := check(t, known, file, object(test.right)); err != nil {
				t.Errorf("%s: %s is refused by %s: %v", test.name, test.right, file, err)
			}
			if check(t, known, file, object(test.wrong)) == nil {
				t.Errorf("%s: %s is taken by %s", test.name, test.wrong, file)
			}
		}
	}
	if err := check(t, known, schema.Combined, "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}"); err != nil {
		t.Errorf("an object of another kind: %v", err)
	}
	if check(t, known, "shop.example.com/shop_v1.json", "apiVersion: shop.example.com/v2\nkind: Shop\nmetadata: {name: x}\nspec: {host: web}") == nil {
		t.Error("an object of another version is taken")
	}
	if len(samples) == 0 {
		t.Error("there are no samples")
	}
}

func TestTheSameEachTime(t *testing.T) {
	t.Parallel()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	definition.Spec.Group, definition.Spec.Names.Kind = "a.example.com", "Thing"
	definition.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}, {Name: "v2"}}
	first, err := schema.Files([]*apiextensionsv1.CustomResourceDefinition{definition})
	if err != nil || len(first) != 2 {
		t.Fatalf("%d files, %v", len(first), err)
	}
	again, err := schema.Files([]*apiextensionsv1.CustomResourceDefinition{definition})
	if err != nil {
		t.Fatal(err)
	}
	for name := range first {
		if !bytes.Equal(first[name], again[name]) {
			t.Errorf("%s differs", name)
		}
	}
	definition.Spec.Names.Kind = ""
	if _, err := schema.Files([]*apiextensionsv1.CustomResourceDefinition{definition}); err == nil {
		t.Error("a definition without a kind has a schema")
	}
}
