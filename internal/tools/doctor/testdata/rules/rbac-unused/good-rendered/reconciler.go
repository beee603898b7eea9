// Package rendered reads manifests from files.
package rendered

import (
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Read reads an object.
func Read(file string) (*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, yaml.Unmarshal(content, &object.Object)
}
