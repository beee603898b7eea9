package crdschema_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/tools/crdschema"
	"github.com/operon-framework/operon/internal/tools/kube"
)

// FuzzSchema reads a CustomResourceDefinition, and judges an object by each of its versions.
func FuzzSchema(f *testing.F) {
	for _, spec := range corpus {
		f.Add([]byte(definition), []byte("{apiVersion: a/v1, kind: Site, spec: "+spec+"}"))
	}
	f.Fuzz(func(t *testing.T, crd, object []byte) {
		var read, fields unstructured.Unstructured
		if yaml.Unmarshal(crd, &read) != nil || yaml.Unmarshal(object, &fields) != nil { // like UnmarshalJSON, which reads whole numbers as int64
			return
		}
		typed, err := kube.ReadCRD(&read)
		if err != nil {
			return
		}
		for _, version := range typed.Spec.Versions {
			judge(t, version, fields.Object)
		}
	})
}

func judge(t *testing.T, version apiextensionsv1.CustomResourceDefinitionVersion, fields map[string]any) {
	schema, err := crdschema.New(&version)
	if err != nil {
		return
	}
	schema.Unknown(fields)
	written := schema.Written(fields)
	_ = schema.Create(t.Context(), written)
	_ = schema.Update(t.Context(), written, schema.Normalized(fields))
}
