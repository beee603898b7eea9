package crdcompat_test

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
)

// A field is renamed in a definition. One of the stored objects holds data in it.
func ExampleCompare() {
	define := func(field string) *apiextensionsv1.CustomResourceDefinition {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		err := yaml.Unmarshal([]byte(`
metadata: {name: sites.example.com}
spec:
  group: example.com
  names: {kind: Site, plural: sites}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {`+field+`: {type: string}}}}}}}
`), definition)
		if err != nil {
			panic(err)
		}
		return definition
	}
	comparison, err := crdcompat.Compare(define("colour"), define("tint"))
	if err != nil {
		panic(err)
	}
	for name, spec := range map[string]map[string]any{"front": {"colour": "red"}, "back": {}} {
		object := map[string]any{"apiVersion": "example.com/v1", "kind": "Site", "metadata": map[string]any{"name": name}, "spec": spec}
		comparison.Object(context.Background(), "v1", "shop/"+name, object)
	}
	fmt.Print(comparison.Result())
	// Output:
	// sites.example.com: 1 finding, 2 stored objects looked at
	//   BREAKS field-pruned v1 spec.colour: the schema has no such field, and its data would be dropped (red)
	//     1 object: shop/front
}
