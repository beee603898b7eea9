package project

import (
	"bytes"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// values makes the values of a document from its nodes. The nodes are needed for places anyway, and decoding the text a second time, which
// the decoder of Kubernetes has to do, takes longer.
type values struct {
	plain map[string]any // by text
}

// valuesOf returns the values of a document, or false if they have to be decoded.
func valuesOf(root *yamlv3.Node, content []byte) (map[string]any, bool) {
	if marksStrings(content) {
		return nil, false
	}
	made, ok := (&values{plain: map[string]any{}}).of(root)
	if !ok {
		return nil, false
	}
	fields, ok := made.(map[string]any)
	return fields, ok
}

// marksStrings reports whether there may be the tag ! of strings, which nodes do not have.
func marksStrings(content []byte) bool {
	for at := 0; ; at++ {
		next := bytes.IndexByte(content[at:], '!')
		if next < 0 {
			return false
		}
		at += next
		before, after := at == 0 || bytes.IndexByte([]byte(" \t\r\n[{,:"), content[at-1]) >= 0, at+1 == len(content) || bytes.IndexByte([]byte(" \t\r\n]},"), content[at+1]) >= 0
		if before && after {
			return true
		}
	}
}

// of returns the value of a node as the decoder of Kubernetes returns it. It returns false for documents with aliases, merge keys, tags, or
// keys that are not strings: that decoder has rules of its own for them.
func (v *values) of(node *yamlv3.Node) (any, bool) {
	if node.Style&yamlv3.TaggedStyle != 0 {
		return nil, false
	}
	switch node.Kind {
	case yamlv3.MappingNode:
		return v.mapping(node)
	case yamlv3.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, below := range node.Content {
			value, ok := v.of(below)
			if !ok {
				return nil, false
			}
			list = append(list, value)
		}
		return list, true
	case yamlv3.ScalarNode:
		if node.Style&(yamlv3.DoubleQuotedStyle|yamlv3.SingleQuotedStyle|yamlv3.LiteralStyle|yamlv3.FoldedStyle) != 0 {
			return node.Value, true
		}
		return v.resolve(node.Value)
	}
	return nil, false
}

func (v *values) mapping(node *yamlv3.Node) (any, bool) {
	fields := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, isScalar := v.of(node.Content[i])
		name, isString := key.(string)
		if !isScalar || !isString || name == "<<" {
			return nil, false
		}
		value, ok := v.of(node.Content[i+1])
		if !ok {
			return nil, false
		}
		fields[name] = value
	}
	return fields, true
}

// resolve returns the value of a scalar without quotes, by the rules of YAML 1.1: yes is true, and 017 is 15.
func (v *values) resolve(text string) (any, bool) {
	if text == "" {
		return nil, true
	}
	const longest = len("false") // of the words that are not strings
	word := strings.ContainsRune("yYnNtTfFoO", rune(text[0]))
	if word && len(text) > longest || !word && !strings.ContainsRune("+-.0123456789~<=", rune(text[0])) || strings.Contains(text, "\n") {
		return text, true
	}
	if value, known := v.plain[text]; known {
		return value, true
	}
	encoded, err := yaml.YAMLToJSON([]byte("value: " + text))
	if err != nil {
		return nil, false
	}
	var fields map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(encoded, &fields); err != nil || len(fields) != 1 {
		return nil, false
	}
	v.plain[text] = fields["value"]
	return fields["value"], true
}
