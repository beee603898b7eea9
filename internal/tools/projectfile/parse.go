package projectfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse parses the content of a file. Errors start with name and a line: "operon.yaml:3: …".
func Parse(name string, content []byte) (*Settings, error) {
	s := &Settings{name: name, values: map[string]value{}}
	var document yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(content))
	switch err := documents.Decode(&document); {
	case errors.Is(err, io.EOF):
		return s, nil
	case err != nil:
		return nil, s.syntax(err)
	}
	var second yaml.Node
	if err := documents.Decode(&second); err == nil {
		return nil, s.at(max(second.Line, 1), "want one YAML document, not several")
	} else if !errors.Is(err, io.EOF) {
		return nil, s.syntax(err)
	}
	root := document.Content[0]
	if root.Tag == "!!null" {
		return s, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, s.at(root.Line, "want settings such as \"replicas: 3\", got %s", described(root))
	}
	if err := s.read(root.Content); err != nil {
		return nil, err
	}
	if err := s.consistent(); err != nil {
		return nil, err
	}
	return s, nil
}

var lineOf = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax moves the line of a YAML error to the beginning of the error.
func (s *Settings) syntax(err error) error {
	text := err.Error()
	line := "1"
	if match := lineOf.FindStringSubmatch(text); match != nil {
		text = text[len(match[0]):]
		if match[1] != "" {
			line = match[1]
		}
	}
	return fmt.Errorf("%s:%s: not valid YAML: %s", s.name, line, text)
}

// read reads the keys and values of the file, which are pairs.
func (s *Settings) read(pairs []*yaml.Node) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		key, node := pairs[i], pairs[i+1]
		read, ok := kinds[key.Value]
		if key.Kind != yaml.ScalarNode || !ok {
			return s.at(key.Line, "unknown key %q%s", key.Value, suggestion(key.Value))
		}
		if earlier, twice := s.values[key.Value]; twice {
			return s.at(key.Line, "%s is set twice, first in line %d", key.Value, earlier.line)
		}
		words, err := read(node)
		if err != nil {
			return s.at(node.Line, "%s: %v", key.Value, err)
		}
		s.values[key.Value] = value{line: key.Line, words: words}
	}
	return nil
}

// scalar returns the text of a node that has one of the tags.
func scalar(node *yaml.Node, want string, tags ...string) (string, error) {
	for _, tag := range tags {
		if node.Kind == yaml.ScalarNode && node.Tag == tag && node.Value != "" {
			return node.Value, nil
		}
	}
	hint := ""
	if node.Kind == yaml.ScalarNode && node.Tag != "!!str" && node.Tag != "!!null" && tags[0] == "!!str" {
		hint = fmt.Sprintf("; write it in quotes: %q", node.Value)
	}
	return "", fmt.Errorf("want %s, got %s%s", want, described(node), hint)
}

// list returns the texts in a list.
func list(node *yaml.Node, want string) ([]string, error) {
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
		return nil, fmt.Errorf("want a list of %s such as [a, b], got %s", want, described(node))
	}
	var words []string
	for _, element := range node.Content {
		word, err := scalar(element, "text", "!!str")
		if err != nil {
			return nil, fmt.Errorf("%w, in line %d", err, element.Line)
		}
		words = append(words, word)
	}
	return words, nil
}

// described names the type of a node, and its value if it is short.
func described(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		if len(node.Content) == 0 {
			return "an empty list"
		}
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	case yaml.ScalarNode:
		if node.Value == "" || node.Tag == "!!null" {
			return "nothing"
		}
	}
	return fmt.Sprintf("%.60q", node.Value)
}

// joined formats words for a flag: separated by commas, in quotes if needed. A single KEY=VALUE is written twice, because
// otherwise pflag does not read quotes in it.
func joined(words []string) string {
	if len(words) == 1 && !strings.Contains(words[0], "=") {
		return words[0]
	}
	if len(words) == 1 {
		words = []string{words[0], words[0]}
	}
	var line strings.Builder
	out := csv.NewWriter(&line)
	_ = out.Write(words) // a strings.Builder returns no errors
	out.Flush()
	return strings.TrimSuffix(line.String(), "\n")
}
