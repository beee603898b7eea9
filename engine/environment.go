package engine

import (
	"os"

	"go.yaml.in/yaml/v3"
)

// expand replaces $NAME and ${NAME} by environment variables in all values of an entry. A variable that is not set stays as ${NAME}. A
// value without quotes then has the type that YAML gives it.
func expand(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode {
		if expanded := os.Expand(node.Value, variable); expanded != node.Value {
			node.Value = expanded
			if node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
				node.Tag = ""
			}
		}
	}
	for i, item := range node.Content {
		if node.Kind != yaml.MappingNode || i%2 == 1 { // not the keys of a mapping
			expand(item)
		}
	}
}

// variable returns the value of an environment variable, or the reference to it if it is not set.
func variable(name string) string {
	if value, ok := os.LookupEnv(name); ok {
		return value
	}
	return "${" + name + "}"
}
