package chart

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// mergeValues applies the changes from before to now to held, key by key. It retains the comments and the order of held.
func mergeValues(before, held, now []byte) (merged []byte, notes []string, err error) {
	var documents [3]yamlv3.Node
	for i, text := range [][]byte{before, held, now} {
		if err := yamlv3.Unmarshal(text, &documents[i]); err != nil {
			return nil, nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
		}
	}
	root := mapping(&documents[1])
	if root == nil {
		return nil, nil, errors.New("want a mapping of keys to values")
	}
	k := &keys{}
	k.merge("", mapping(&documents[0]), root, mapping(&documents[2]))
	if !k.changed {
		return held, k.notes, nil // byte for byte
	}
	var text bytes.Buffer
	encoder := yamlv3.NewEncoder(&text)
	encoder.SetIndent(2)
	err = errors.Join(encoder.Encode(&documents[1]), encoder.Close())
	return text.Bytes(), k.notes, err
}

// keys is the state of a merge of mappings.
type keys struct {
	changed bool
	notes   []string
}

// mapping returns the mapping in a document or a value, or nil if it is not a mapping.
func mapping(node *yamlv3.Node) *yamlv3.Node {
	if node != nil && node.Kind == yamlv3.DocumentNode && len(node.Content) > 0 {
		node = node.Content[0]
	}
	if node == nil || node.Kind != yamlv3.MappingNode {
		return nil
	}
	return node
}

// find returns the index of a key's value in a mapping, or 0 if the key does not exist.
func find(node *yamlv3.Node, key string) int {
	if node == nil {
		return 0
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return i + 1
		}
	}
	return 0
}

func value(node *yamlv3.Node, key string) *yamlv3.Node {
	if i := find(node, key); i > 0 {
		return node.Content[i]
	}
	return nil
}

func (k *keys) merge(at string, before, held, now *yamlv3.Node) {
	for i := 0; now != nil && i+1 < len(now.Content); i += 2 {
		k.wanted(at, before, held, now.Content[i], now.Content[i+1])
	}
	for i := 0; before != nil && i+1 < len(before.Content); i += 2 {
		k.dropped(at, before.Content[i].Value, before.Content[i+1], held, now)
	}
}

// wanted merges a key that is generated.
func (k *keys) wanted(at string, before, held, key, now *yamlv3.Node) {
	was, is := value(before, key.Value), value(held, key.Value)
	switch {
	case is == nil && was == nil:
		held.Content = append(held.Content, key, now)
		k.changed = true
	case is == nil, same(is, now):
		// removed by a user, or already equal
	case mapping(is) != nil && mapping(now) != nil:
		k.merge(at+key.Value+".", mapping(was), is, now)
	case was != nil && same(is, was):
		held.Content[find(held, key.Value)] = now
		k.changed = true
	case was == nil || !same(was, now):
		k.notes = append(k.notes, fmt.Sprintf("%s was edited to %s and is kept; the generated value is %s", at+key.Value, short(is), short(now)))
	}
}

// dropped merges a key that may no longer be generated.
func (k *keys) dropped(at, key string, was, held, now *yamlv3.Node) {
	i := find(held, key)
	if find(now, key) > 0 || i == 0 {
		return
	}
	if same(held.Content[i], was) {
		held.Content = append(held.Content[:i-1], held.Content[i+1:]...)
		k.changed = true
		return
	}
	k.notes = append(k.notes, fmt.Sprintf("%s has no effect any more; it is kept because it was edited", at+key))
}

// same compares decoded values, not their notation.
func same(a, b *yamlv3.Node) bool {
	var left, right any
	if a.Decode(&left) != nil || b.Decode(&right) != nil {
		return false
	}
	return fmt.Sprintf("%#v", left) == fmt.Sprintf("%#v", right)
}

// short returns a value on one line.
func short(node *yamlv3.Node) string {
	plain := *node
	plain.Style = yamlv3.FlowStyle
	plain.HeadComment, plain.LineComment, plain.FootComment = "", "", ""
	text, err := yamlv3.Marshal(&plain)
	if err != nil {
		return node.Value
	}
	return strings.TrimSpace(string(text))
}
