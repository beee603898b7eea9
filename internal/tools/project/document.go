package project

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// document is one document of a manifest.
type document struct {
	content []byte
	before  int // number of lines before it in its file
}

// split splits a manifest at its "---" and "..." lines, which end a document wherever they are. Text that follows "---" in
// its line belongs to the next document.
func split(content []byte) []document {
	documents := []document{{}}
	for number, line := range bytes.SplitAfter(content, []byte("\n")) {
		if found := boundary.FindSubmatch(line); found != nil {
			documents = append(documents, document{before: number + 1})
			if len(found[1]) == 0 {
				continue
			}
			documents[len(documents)-1].before = number
		}
		last := &documents[len(documents)-1]
		last.content = append(last.content, line...)
	}
	return documents
}

// boundary matches a line that ends a document, and the text that follows in it, except a comment.
var boundary = regexp.MustCompile(`^(?:---|\.\.\.)(?:\s+([^#\s].*))?(?:\s|$)`)

// objects reads the document's objects: none if it is empty, several if it is a List.
func (d document) objects(file string) ([]Object, error) {
	root, err := d.parse(file)
	if err != nil || root == nil {
		return nil, err
	}
	place := fmt.Sprintf("%s:%d", file, root.Line)
	written, err := d.decode(place)
	if err != nil {
		return nil, err
	}
	if !written.IsList() {
		return []Object{{Unstructured: written, File: file, Line: root.Line, node: root}}, nil
	}
	return items(written, file, root)
}

// parse returns the document's root with the line numbers of the file, or nil for an empty document.
func (d document) parse(file string) (*yamlv3.Node, error) {
	root, err := d.root(file)
	if err != nil || root == nil {
		return nil, err
	}
	if root.Kind != yamlv3.MappingNode {
		return nil, fmt.Errorf("%s:%d: not a Kubernetes object: want a mapping with apiVersion, kind and metadata", file, root.Line)
	}
	return root, refuseDuplicates(root, file)
}

// root returns the document's root, of any type, or nil for an empty document.
func (d document) root(file string) (*yamlv3.Node, error) {
	var node yamlv3.Node
	if err := yamlv3.Unmarshal(d.content, &node); err != nil {
		return nil, d.syntaxError(file, err)
	}
	if len(node.Content) == 0 || node.Content[0].Tag == "!!null" {
		return nil, nil
	}
	root := node.Content[0]
	shift(root, d.before)
	return root, nil
}

func (d document) decode(place string) (*unstructured.Unstructured, error) {
	var fields struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(d.content, &fields); err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	if fields.APIVersion == "" || fields.Kind == "" {
		return nil, fmt.Errorf("%s: not a Kubernetes object: it needs both apiVersion and kind", place)
	}
	encoded, err := yaml.YAMLToJSON(d.content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(encoded); err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	if object.GetName() == "" && !object.IsList() {
		return nil, fmt.Errorf("%s: the %s has no metadata.name", place, object.GetKind())
	}
	return object, nil
}

// items returns the objects in a List.
func items(list *unstructured.Unstructured, file string, root *yamlv3.Node) ([]Object, error) {
	_, nodes := child(root, "items")
	elements, _, err := unstructured.NestedSlice(list.Object, "items")
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, root.Line, err)
	}
	var objects []Object
	for i, element := range elements {
		node := nodes.Content[i]
		fields, ok := element.(map[string]any)
		object := &unstructured.Unstructured{Object: fields}
		if !ok || object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("%s:%d: not a Kubernetes object: it needs apiVersion, kind and metadata.name", file, node.Line)
		}
		objects = append(objects, Object{Unstructured: object, File: file, Line: node.Line, node: node})
	}
	return objects, nil
}

// shift adds a number of lines to the line numbers of a tree.
func shift(node *yamlv3.Node, lines int) {
	node.Line += lines
	for _, below := range node.Content {
		shift(below, lines)
	}
}

// refuseDuplicates returns an error for duplicate keys. The decoder would silently keep one of them.
func refuseDuplicates(node *yamlv3.Node, file string) error {
	first := map[string]int{}
	var problems []error
	for i, below := range node.Content {
		problems = append(problems, refuseDuplicates(below, file))
		if node.Kind != yamlv3.MappingNode || i%2 == 1 {
			continue
		}
		if line, twice := first[below.Value]; twice {
			problems = append(problems, fmt.Errorf("%s:%d: the key %q is here a second time, first in line %d", file, below.Line, below.Value, line))
			continue
		}
		first[below.Value] = below.Line
	}
	return errors.Join(problems...)
}

var syntaxLine = regexp.MustCompile(`^yaml: line (\d+): `)

// syntaxError names the place in the file. The parser counts lines from the beginning of the document.
func (d document) syntaxError(file string, err error) error {
	line := 1
	if found := syntaxLine.FindStringSubmatch(err.Error()); found != nil {
		fmt.Sscan(found[1], &line)
	}
	text := strings.TrimPrefix(syntaxLine.ReplaceAllString(err.Error(), ""), "yaml: ")
	return fmt.Errorf("%s:%d: %s", file, d.before+line, text)
}
