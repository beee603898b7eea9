package crdcompat

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/testing/scenario"
)

// TestScenarios runs testdata/*.txt: each line changes the definition, and the stored objects follow. Everything else is as
// in base.
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 50, func(t *testing.T, given string) string {
		old, objects, _ := strings.Cut(given, "\nobjects:\n")
		text := base
		was := definition(t, text)
		for line := range strings.Lines(old) {
			line = strings.TrimRight(line, "\n")
			switch verb, rest, _ := strings.Cut(line, " "); verb {
			case "stored":
				was.Status.StoredVersions = strings.Fields(rest)
			case "was": // the old definition differs from base, too
				text = replaced(t, text, rest)
				stored := was.Status.StoredVersions
				was = definition(t, text)
				was.Status.StoredVersions = stored
			case "becomes":
				text = replaced(t, text, rest)
			case "", "#":
			default:
				t.Fatalf("what is %q?", line)
			}
		}
		c, err := Compare(was, definition(t, text))
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		for _, version := range c.reads() {
			for i, fields := range objectsIn(t, objects, version) {
				c.Object(t.Context(), version, fmt.Sprintf("default/%c", 'a'+i), fields)
			}
		}
		return c.Result().String()
	})
}

// base is the definition that is changed.
const base = `
metadata: {name: sites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Site, plural: sites}
  conversion: {strategy: None}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              colour: {type: string}
              size: {type: integer}
              ports: {type: array, items: {type: object, properties: {name: {type: string}, number: {type: integer}}}}
              labels: {type: object, additionalProperties: {type: string}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// replaced replaces one text by another: "this" => "that".
func replaced(t *testing.T, text, how string) string {
	t.Helper()
	this, that, ok := strings.Cut(how, " => ")
	this = strings.ReplaceAll(this, `\n`, "\n")
	if !ok || !strings.Contains(text, this) {
		t.Fatalf("cannot replace %q", how)
	}
	return strings.ReplaceAll(text, this, strings.ReplaceAll(that, `\n`, "\n"))
}

func definition(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	made := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), made); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	made.Status.StoredVersions = []string{"v1"}
	return made
}

var between = regexp.MustCompile(`(?m)^---$`)

func objectsIn(t *testing.T, text, version string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, document := range between.Split(text, -1) {
		fields := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &fields); err != nil {
			t.Fatal(err)
		}
		if len(fields) == 0 {
			continue
		}
		object := &unstructured.Unstructured{Object: fields}
		object.SetAPIVersion("example.com/" + version)
		object.SetKind("Site")
		object.SetName("x")
		data, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		again := &unstructured.Unstructured{} // with numbers of the types that a client reads
		if err := again.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		all = append(all, again.Object)
	}
	return all
}
