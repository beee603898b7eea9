package project

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
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
		if found := boundaryIn(line); found != nil {
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

// boundaryIn matches a line with boundary, if it may be one: most lines are not.
func boundaryIn(line []byte) [][]byte {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return nil
	}
	return boundary.FindSubmatch(line)
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
	written, err := d.decode(root, place)
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
	if err := refuseExpansion(root, file); err != nil {
		return nil, err
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

// decode decodes the document as kubectl does: by the rules of YAML 1.1.
func (d document) decode(root *yamlv3.Node, place string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	fields, ok := valuesOf(root, d.content)
	object.Object = fields
	if !ok {
		encoded, err := yaml.YAMLToJSON(d.content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(encoded, &object.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
	}
	if object.GetAPIVersion() == "" || object.GetKind() == "" {
		return nil, fmt.Errorf("%s: not a Kubernetes object: it needs both apiVersion and kind", place)
	}
	if object.GetName() == "" && !object.IsList() {
		return nil, fmt.Errorf("%s: the %s has no metadata.name", place, object.GetKind())
	}
	return object, nil
}

// items returns the objects in a List.
func items(list *unstructured.Unstructured, file string, root *yamlv3.Node) ([]Object, error) {
	nodes := nodesOf(root)
	elements, _, err := unstructured.NestedSlice(list.Object, "items")
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, root.Line, err)
	}
	var objects []Object
	for i, element := range elements {
		node := root // of an element that comes from an alias
		if i < len(nodes) {
			node = nodes[i]
		}
		fields, ok := element.(map[string]any)
		object := &unstructured.Unstructured{Object: fields}
		if !ok || object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("%s:%d: not a Kubernetes object: it needs apiVersion, kind and metadata.name", file, node.Line)
		}
		objects = append(objects, Object{Unstructured: object, File: file, Line: node.Line, node: node})
	}
	return objects, nil
}

// nodesOf returns the elements of a List.
func nodesOf(list *yamlv3.Node) []*yamlv3.Node {
	_, found := child(list, "items")
	if found == nil {
		return nil
	}
	return found.Content
}

// shift adds a number of lines to the line numbers of a tree.
func shift(node *yamlv3.Node, lines int) {
	node.Line += lines
	for _, below := range node.Content {
		shift(below, lines)
	}
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
