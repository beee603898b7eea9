package manifests

import (
	"bytes"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Mark is the first line of written files.
const Mark = "# Written by operon generate; edits are lost.\n"

// Manifest returns all objects in one YAML file for kubectl apply.
func (o Operator) Manifest() ([]byte, error) {
	objects, err := o.Objects()
	if err != nil {
		return nil, err
	}
	return YAML(objects)
}

// YAML writes objects as a file with several documents.
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
