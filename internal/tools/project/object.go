package project

import (
	"fmt"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is a Kubernetes object and the place in a manifest that it was read from.
type Object struct {
	*unstructured.Unstructured
	// File is the manifest, relative to the directory that was read.
	File string
	// Line is where the object begins, from 1.
	Line int

	node *yamlv3.Node
}

// Place is the object's place as file:line.
func (o Object) Place() string { return fmt.Sprintf("%s:%d", o.File, o.Line) }

// PlaceOf is the place of a field, given as the API server names it: spec.size,
// .spec.template.containers[0].name. It is the object's own place where the field is not
// written in the manifest.
func (o Object) PlaceOf(field string) string {
	line, _ := o.Locate(field)
	return fmt.Sprintf("%s:%d", o.File, line)
}

// Locate is PlaceOf as a line and a column, both from 1.
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

// child returns the node below a step, and the node that tells its place.
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
