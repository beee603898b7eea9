// Package embedded installs an embedded manifest.
package embedded

import (
	_ "embed"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed agent.yaml
var agent []byte

// Agent returns the agent of a node.
func Agent() (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	return object, yaml.Unmarshal(agent, &object.Object)
}

const resource = "nodes"
