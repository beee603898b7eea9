package manifests

import (
	"bytes"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Mark begins what is written for files.
const Mark = "# Written by operon generate; edits are lost.\n"

// Manifest is all objects in one file of YAML, for kubectl apply.
func (o Operator) Manifest() ([]byte, error) {
	objects, err := o.Objects()
	if err != nil {
		return nil, err
	}
	return YAML(objects)
}

// YAML writes objects as a file of several documents.
func YAML(objects []*unstructured.Unstructured) ([]byte, error) {
	text := bytes.NewBufferString(Mark)
	for _, object := range objects {
		one, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		text.WriteString("---\n")
		text.Write(one)
	}
	return text.Bytes(), nil
}
