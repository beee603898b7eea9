package manifest

import (
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// The rule crd-invalid rejects the schemas of spec that an API server rejects, and no others. It does not use the API
// server's whole validation, which would link gRPC into every command. Its gaps are listed here, so that their number does
// not grow.
func TestInvalidAsAnAPIServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec    string
		invalid bool
		gap     bool // the API server rejects it, the rule does not
	}{
		"plain":                         {spec: "{type: object, properties: {size: {type: integer, minimum: 1, default: 3}}}"},
		"a list map":                    {spec: "{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object, required: [id], properties: {id: {type: string}}}}}}"},
		"int or string":                 {spec: "{type: object, properties: {a: {x-kubernetes-int-or-string: true}}}"},
		"a CEL rule":                    {spec: "{type: object, x-kubernetes-validations: [{rule: 'self.size < 3'}], properties: {size: {type: integer}}}"},
		"no type":                       {spec: "{properties: {a: {type: string}}}", invalid: true},
		"a field without a type":        {spec: "{type: object, properties: {a: {minimum: 1}}}", invalid: true},
		"a default of another type":     {spec: "{type: object, properties: {a: {type: integer, default: x}}}", invalid: true},
		"a default out of bounds":       {spec: "{type: object, properties: {a: {type: integer, maximum: 3, default: 4}}}", invalid: true},
		"a type in anyOf":               {spec: "{type: object, properties: {a: {type: string, anyOf: [{type: string}]}}}", invalid: true},
		"properties and additional":     {spec: "{type: object, properties: {a: {type: string}}, additionalProperties: {type: string}}", invalid: true},
		"properties and any others":     {spec: "{type: object, properties: {a: {type: object, properties: {b: {type: string}}, additionalProperties: true}}}"},
		"properties and no others":      {spec: "{type: object, properties: {a: {type: object, properties: {b: {type: string}}, additionalProperties: false}}}", invalid: true},
		"a pattern that is no regexp":   {spec: "{type: object, properties: {a: {type: string, pattern: '('}}}", invalid: true},
		"CEL that does not compile":     {spec: "{type: object, x-kubernetes-validations: [{rule: 'self.sise < 3'}], properties: {size: {type: integer}}}", invalid: true},
		"CEL that is not a bool":        {spec: "{type: object, x-kubernetes-validations: [{rule: 'self.size'}], properties: {size: {type: integer}}}", invalid: true},
		"CEL that costs too much":       {spec: "{type: object, properties: {a: {type: array, items: {type: string, x-kubernetes-validations: [{rule: 'self.contains(self)'}]}}}}", invalid: true},
		"a message with a line break":   {spec: "{type: object, x-kubernetes-validations: [{rule: 'self.size < 3', message: \"a\\nb\"}], properties: {size: {type: integer}}}", invalid: true, gap: true},
		"unique items":                  {spec: "{type: object, properties: {a: {type: array, uniqueItems: true, items: {type: string}}}}", invalid: true},
		"a map key that is optional":    {spec: "{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object, properties: {id: {type: string}}}}}}", invalid: true},
		"a map key that does not exist": {spec: "{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [key], items: {type: object, required: [id], properties: {id: {type: string}}}}}}", invalid: true},
		"a set of objects":              {spec: "{type: object, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: object, properties: {id: {type: string}}}}}}", invalid: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := definitionWith(t, c.spec)
			subject := &rule.Subject{Definitions: []*rule.Definition{{Typed: definition}}}
			ours := refused(subject.Versions()[0])
			theirs := refusedByServer(t, definition)
			if (theirs != "") != c.invalid {
				t.Fatalf("an API server says %q, which rejects it: %t", theirs, c.invalid)
			}
			if got, want := len(ours) > 0, c.invalid && !c.gap; got != want {
				t.Errorf("the rule says %v, an API server %q", ours, theirs)
			}
		})
	}
}

func definitionWith(t *testing.T, spec string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	root := &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{}}
	var schema apiextensionsv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict([]byte(spec), &schema); err != nil {
		t.Fatal(err)
	}
	root.Properties["spec"] = schema
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "lamps.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "lamps", Singular: "lamp", Kind: "Lamp", ListKind: "LampList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root},
			}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
}

// refusedByServer returns the errors of the validation that API servers run, "" if there are none.
func refusedByServer(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apiextensions.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	defaulted := definition.DeepCopy()
	scheme.Default(defaulted)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(defaulted, internal, nil); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, problem := range validation.ValidateCustomResourceDefinition(t.Context(), internal) {
		all = append(all, problem.Error())
	}
	return strings.Join(all, "; ")
}
