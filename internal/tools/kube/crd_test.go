package kube

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// boxes returns a definition of Box with the given versions.
func boxes(t *testing.T, versions string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.kube.test}
spec:
  group: kube.test
  scope: Namespaced
  names: {kind: Box, plural: boxes, singular: box, listKind: BoxList}
  versions:
`+versions)
}

const (
	served = "  - {name: %v, served: true, storage: %s, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}\n"
	gone   = "  - {name: %v, served: false, storage: %s, schema: {openAPIV3Schema: {type: object}}}\n"
)

func version(template, name, storage string) string {
	return strings.Replace(strings.Replace(template, "%v", name, 1), "%s", storage, 1)
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		versions, storage, readable string
		served                      []string
	}{
		"stored-served":     {version(served, "v1alpha1", "false") + version(served, "v1", "true"), "v1", "v1", []string{"v1alpha1", "v1"}},
		"stored-not-served": {version(served, "v1alpha1", "false") + version(gone, "v1", "true"), "v1", "v1alpha1", []string{"v1alpha1"}},
		"none-served":       {version(gone, "v1", "true"), "v1", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crd, err := ReadCRD(boxes(t, test.versions))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, resource := range crd.Served() {
				got = append(got, resource.Version)
				if resource.GroupResource() != (schema.GroupResource{Group: "kube.test", Resource: "boxes"}) {
					t.Errorf("served is %s", resource)
				}
			}
			readable, ok := crd.Readable()
			if !slices.Equal(got, test.served) || crd.Storage() != test.storage || readable.Version != test.readable || ok != (test.readable != "") {
				t.Errorf("served %q, stored in %q, readable in %q, %v", got, crd.Storage(), readable.Version, ok)
			}
			if crd.Defines() != (schema.GroupKind{Group: "kube.test", Kind: "Box"}) {
				t.Errorf("it defines %s", crd.Defines())
			}
		})
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	crd, err := ReadCRD(boxes(t, version(served, "v1", "true")+"  - {name: v2, served: false, storage: false}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if schema := crd.Schema("v1"); schema == nil || schema.Properties["spec"].Properties["size"].Type != "integer" {
		t.Errorf("schema %v", schema)
	}
	for _, name := range []string{"v2", "v3"} {
		if crd.Schema(name) != nil {
			t.Errorf("version %s has a schema", name)
		}
	}
}

func TestNotADefinition(t *testing.T) {
	t.Parallel()
	_, err := ReadCRD(parse(t, "{metadata: {name: boxes.kube.test}, spec: {versions: nothing}}"))
	if err == nil || !strings.HasPrefix(err.Error(), "decode CustomResourceDefinition boxes.kube.test: ") {
		t.Errorf("%v", err)
	}
}

func TestEstablished(t *testing.T) {
	t.Parallel()
	for conditions, want := range map[string]string{
		"[]": "the API server has not processed it yet",
		"[{type: NamesAccepted, status: 'False', reason: Taken, message: its name is}]": "Taken: its name is",
		"[{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]":  "",
	} {
		crd, err := ReadCRD(parse(t, "{status: {conditions: "+conditions+"}}"))
		if err != nil {
			t.Fatal(err)
		}
		if err := crd.established(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", conditions, err, want)
		}
	}
}

func TestUnlisted(t *testing.T) {
	t.Parallel()
	box := schema.GroupVersionResource{Group: "kube.test", Version: "v1", Resource: "boxes"}
	if err := unlisted(map[schema.GroupVersionResource]struct{}{box: {}}, []schema.GroupVersionResource{box}); err != nil {
		t.Error(err)
	}
	err := unlisted(nil, []schema.GroupVersionResource{box})
	if err == nil || err.Error() != "CustomResourceDefinition boxes.kube.test: not served: discovery does not list boxes of kube.test/v1 yet" {
		t.Errorf("%v", err)
	}
}
