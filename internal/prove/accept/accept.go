package accept

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/operon-framework/operon/internal/prove/finding"
)

// List contains the accepted findings of a file.
type List struct {
	file    string
	entries []*entry
}

// entry is one accepted finding.
type entry struct {
	Property finding.Property
	Kind     string // the kind of the object; empty means any kind
	Message  string
	Reason   string
	line     int
	seen     bool
}

// Read reads a file:
//
//	accepted:
//	- property: same-fresh
//	  kind: StatefulSet        # optional
//	  message: "…"             # as the report prints it
//	  reason: claim templates are immutable
//
// Errors name the file, the line and the field.
func Read(file string) (*List, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the accepted findings: %w", err)
	}
	return Parse(file, content)
}

// Parse is Read for the content of a file. The file name is used in errors.
func Parse(file string, content []byte) (*List, error) {
	var document struct {
		Accepted []yaml.Node `yaml:"accepted"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	list := &List{file: file}
	var problems []error
	for i := range document.Accepted {
		e, err := entryOf(&document.Accepted[i])
		if err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: %w", file, document.Accepted[i].Line, err))
			continue
		}
		list.entries = append(list.entries, e)
	}
	if len(document.Accepted) == 0 {
		problems = append(problems, fmt.Errorf("%s: lists nothing under accepted", file))
	}
	return list, errors.Join(problems...)
}

func entryOf(node *yaml.Node) (*entry, error) {
	if node.Kind != yaml.MappingNode {
		return nil, errors.New("want a finding with property, message and reason")
	}
	e := &entry{line: node.Line}
	fields := map[string]*string{"property": (*string)(&e.Property), "kind": &e.Kind, "message": &e.Message, "reason": &e.Reason}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		into := fields[key.Value]
		if into == nil {
			return nil, fmt.Errorf("unknown field %q: want property, kind, message and reason", key.Value)
		}
		if value.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("%s: want a text", key.Value)
		}
		*into = strings.TrimSpace(value.Value)
	}
	switch {
	case !slices.Contains(finding.Properties(), e.Property):
		return nil, fmt.Errorf("property: %q is not a property: want one of %v", e.Property, finding.Properties())
	case e.Message == "":
		return nil, errors.New("message: missing; copy it from the report")
	case e.Reason == "":
		return nil, errors.New("reason: missing; say why the finding is accepted")
	}
	return e, nil
}

// Mark sets the reason of each finding that is accepted. A nil list accepts none.
func (l *List) Mark(findings []finding.Finding) {
	if l == nil {
		return
	}
	for i := range findings {
		for _, e := range l.entries {
			if e.accepts(&findings[i]) {
				findings[i].Accepted, e.seen = e.Reason, true
			}
		}
	}
}

// Accepts reports whether a finding is accepted. A nil list accepts none.
func (l *List) Accepts(f finding.Finding) bool {
	return l != nil && slices.ContainsFunc(l.entries, func(e *entry) bool { return e.accepts(&f) })
}

func (e *entry) accepts(f *finding.Finding) bool {
	return e.Property == f.Property && (e.Message == f.Message || e.Message == f.Text()) && (e.Kind == "" || f.Of != nil && f.Of.Kind == e.Kind)
}

// Unseen returns a sentence for each accepted finding that did not occur in any call of Mark.
func (l *List) Unseen() []string {
	if l == nil {
		return nil
	}
	var all []string
	for _, e := range l.entries {
		if !e.seen {
			all = append(all, fmt.Sprintf("%s:%d accepts a finding of %s that did not occur: %s", l.file, e.line, e.Property, e.Message))
		}
	}
	return all
}
