package project

import (
	"fmt"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is a Kubernetes object and its place in a manifest.
type Object struct {
	*unstructured.Unstructured
	// File is the path of the manifest, relative to the directory that was read.
	File string
	// Line is the line in which the object begins, from 1.
	Line int

	node *yamlv3.Node
}

// Place returns the object's place as file:line.
func (o Object) Place() string { return fmt.Sprintf("%s:%d", o.File, o.Line) }

// PlaceOf returns the place of a field with a path in the form of the API server: spec.size,
// .spec.template.containers[0].name. If the manifest does not contain the field, it returns the place of the nearest field
// above it that it contains, or of the object.
func (o Object) PlaceOf(field string) string {
	line, _ := o.Locate(field)
	return fmt.Sprintf("%s:%d", o.File, line)
}

// Locate is like PlaceOf, but returns a line and a column, both from 1.
func (o Object) Locate(field string) (line, column int) {
	line, column = o.Line, 1
	node := o.node
	for _, step := range steps(field) {
		key, value := child(node, step)
		if value == nil {
			break
		}
		node, line, column = value, key.Line, key.Column
	}
	return line, column
}

// steps splits a path into names and indices.
func steps(field string) []string {
	return strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// child returns the node below a step, and the node with its place.
func child(node *yamlv3.Node, step string) (place, value *yamlv3.Node) {
	if node == nil {
		return nil, nil
	}
	if node.Kind == yamlv3.SequenceNode {
		index, err := strconv.Atoi(step)
		if err != nil || index < 0 || index >= len(node.Content) {
			return nil, nil
		}
		return node.Content[index], node.Content[index]
	}
	for i := 0; node.Kind == yamlv3.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == step {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}
