package project_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/project"
)

const several = `# a comment
apiVersion: example.com/v1
kind: Web
metadata:
  name: one
spec:
  size: 3
  pages:
  - title: first
  - title: second
---
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: two
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: three
--- # the last
{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "four"}}
`

func TestReadFileKnowsTheLineOfEachObject(t *testing.T) {
	t.Parallel()
	objects, err := project.ReadFile(write(t, files{"all.yaml": several}), "all.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"one all.yaml:2", "two all.yaml:16", "three all.yaml:20", "four all.yaml:25"}
	for i, object := range objects {
		if got := object.GetName() + " " + object.Place(); i >= len(want) || got != want[i] {
			t.Errorf("object %d is %s", i, got)
		}
	}
	if len(objects) != len(want) {
		t.Errorf("%d objects", len(objects))
	}
}

func TestDocumentsAreSplitAsYAMLSaysIt(t *testing.T) {
	t.Parallel()
	const text = `--- {apiVersion: v1, kind: Secret, metadata: {name: one}}
...
# the end of one
---	# a tab
apiVersion: v1
kind: Secret
metadata: {name: two, annotations: {text: "---"}}
... # nothing more
--- {apiVersion: v1, kind: Secret, metadata: {name: three}}
`
	objects, err := project.Parse("all.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, object.GetName()+" "+object.Place())
	}
	if want := "one all.yaml:1, two all.yaml:5, three all.yaml:9"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlaceOfFindsTheLineOfAField(t *testing.T) {
	t.Parallel()
	objects, err := project.ReadFile(write(t, files{"all.yaml": several}), "all.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"spec.size":             "all.yaml:7",
		".spec.pages[1].title":  "all.yaml:10",
		"spec.pages[1].missing": "all.yaml:10", // the nearest field that is written
		"spec.pages[9]":         "all.yaml:8",
		"status":                "all.yaml:2",
		"":                      "all.yaml:2",
	} {
		if got := objects[0].PlaceOf(field); got != want {
			t.Errorf("%q is at %s, want %s", field, got, want)
		}
	}
}

func TestReadFolderLeavesOutWhatIsKustomizes(t *testing.T) {
	t.Parallel()
	dir := write(t, files{
		"config/samples/kustomization.yaml":    "resources: [a.yaml]\n",
		"config/samples/kustomizeconfig.yml":   "nameReference: []\n",
		"config/samples/kustomize.a.io_b.yaml": crd,
		"config/samples/b.json":                `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`,
		"config/samples/notes.txt":             "kind: [",
		"config/samples/deeper/untouched.yaml": "kind: [",
	})
	objects, err := project.ReadFolder(dir, "config/samples")
	if err != nil || len(objects) != 2 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
}

func TestCRDsAreReadFromBasesWhereThatExists(t *testing.T) {
	t.Parallel()
	p := read(t, files{
		"config/crd/webs.yaml":            "",
		"config/crd/kustomization.yaml":   "resources: [bases/webs.yaml]\n",
		"config/crd/patches.yaml":         "kind: [",
		"config/crd/bases/example_w.yaml": crd,
	})
	if len(p.CRDs) != 1 || p.CRDs[0].Place() != "config/crd/bases/example_w.yaml:1" {
		t.Errorf("%+v", p.CRDs)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(several))
	for _, text := range []string{"--- {a: 1}\n...\n%YAML 1.2\n---\n", "apiVersion: v1\nkind: List\nitems: [1]\n", "apiVersion: v1\nkind: List\nitems: {}\n", "&a [*a]", "a: &a {<<: *a}", "\t", "kind: ["} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		objects, _ := project.Parse("all.yaml", content)
		for _, object := range objects {
			if object.GetKind() == "" || object.Line < 1 || object.Line > bytes.Count(content, []byte("\n"))+1 {
				t.Errorf("line %d of\n%s", object.Line, content)
			}
			object.PlaceOf("spec.containers[0].name")
		}
	})
}
