package v1alpha1

import (
	"embed"
	"fmt"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed crd/*.yaml
var definitions embed.FS

// CRDs returns the CustomResourceDefinitions of this API, each call new ones. An operator that offers
// actions does not install them: install them with the operator, once in each cluster.
func CRDs() []*unstructured.Unstructured {
	files, err := definitions.ReadDir("crd")
	if err != nil {
		panic(err) // they are part of the program, here and below: a test reads them
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		text, err := definitions.ReadFile(path.Join("crd", file.Name()))
		if err != nil {
			panic(err)
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			panic(fmt.Sprintf("%s: %v", file.Name(), err))
		}
		all = append(all, crd)
	}
	return all
}
