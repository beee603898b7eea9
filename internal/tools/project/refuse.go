package project

import (
	"errors"
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Limits of a manifest. They are far above those of real manifests.
const (
	maxDocuments = 10_000
	maxProblems  = 100
	maxExpansion = 8 << 20
)

// refuseDuplicates returns an error for the first duplicate keys. The decoder would silently keep one of them.
func refuseDuplicates(node *yamlv3.Node, file string) error {
	d := &duplicates{file: file}
	d.look(node)
	return errors.Join(d.problems...)
}

type duplicates struct {
	file     string
	problems []error
}

func (d *duplicates) look(node *yamlv3.Node) {
	first := map[string]int{}
	for i, below := range node.Content {
		if len(d.problems) >= maxProblems {
			return
		}
		d.look(below)
		if node.Kind != yamlv3.MappingNode || i%2 == 1 {
			continue
		}
		if line, twice := first[below.Value]; twice {
			d.problems = append(d.problems, fmt.Errorf("%s:%d: the key %q is here a second time, first in line %d", d.file, below.Line, below.Value, line))
			continue
		}
		first[below.Value] = below.Line
	}
}

// refuseExpansion returns an error if the aliases in a document make it much larger than its text, before a decoder replaces them.
func refuseExpansion(root *yamlv3.Node, file string) error {
	e := &expansion{sizes: map[*yamlv3.Node]int{}}
	e.size(root)
	if e.aliased > maxExpansion {
		return fmt.Errorf("%s:%d: the aliases make the document larger than %d MiB: write their content out", file, root.Line, maxExpansion>>20)
	}
	return nil
}

type expansion struct {
	sizes   map[*yamlv3.Node]int // of the nodes that aliases stand for
	aliased int
}

// size returns the number of characters and values of a node without aliases, and adds up how much of that comes from aliases. Sizes stop at
// the limit, also that of a node that contains itself.
func (e *expansion) size(node *yamlv3.Node) int {
	if node.Kind == yamlv3.AliasNode {
		size, known := e.sizes[node.Alias]
		if !known {
			e.sizes[node.Alias] = maxExpansion + 1 // until its size is known, it contains itself
			size = e.size(node.Alias)
			e.sizes[node.Alias] = size
		}
		e.aliased = min(e.aliased+size, maxExpansion+1)
		return size
	}
	size := len(node.Value) + 1
	for _, below := range node.Content {
		size = min(size+e.size(below), maxExpansion+1)
	}
	return size
}
