package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Layout is the part of a kubebuilder or Operator SDK PROJECT file that Operon needs.
type Layout struct {
	// Name is the name of the operator. It may be "".
	Name string
	// Resources are the kinds, in order.
	Resources []Resource
}

// Resource is a kind that a PROJECT file lists.
type Resource struct {
	Version, Kind string
	// Webhooks reports whether the project has webhooks for it.
	Webhooks bool
	// Line is the line of the file that lists it.
	Line int
}

// ProjectFile is the name of the file that a Layout is read from.
const ProjectFile = "PROJECT"

// ReadLayout reads the PROJECT file in dir. It returns nil if there is none.
func ReadLayout(dir string) (*Layout, error) {
	content, err := os.ReadFile(filepath.Join(dir, ProjectFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	layout, err := ParseLayout(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return layout, nil
}

// ParseLayout parses the content of a PROJECT file. Errors name PROJECT and the line. Unknown fields are ignored, because
// newer tools write more.
func ParseLayout(content []byte) (*Layout, error) {
	root, err := document{content: content}.root(ProjectFile)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, fmt.Errorf("%s:1: the file is empty; remove it, or let kubebuilder write it again", ProjectFile)
	}
	if root.Kind != yamlv3.MappingNode {
		return nil, fmt.Errorf("%s:%d: want a mapping with version, layout and resources", ProjectFile, root.Line)
	}
	if err := refuseDuplicates(root, ProjectFile); err != nil {
		return nil, err
	}
	var written projectFile
	if err := root.Decode(&written); err != nil {
		return nil, decodeError(err)
	}
	return written.layout(root)
}

// projectFile is the content of the file, in all its versions.
type projectFile struct {
	Version   string        `yaml:"version"`
	Name      string        `yaml:"projectName"`
	Resources []projectPart `yaml:"resources"`
}

// projectPart is one of the resources.
type projectPart struct {
	Version  string `yaml:"version"`
	Kind     string `yaml:"kind"`
	Webhooks struct {
		Defaulting bool `yaml:"defaulting"`
		Validation bool `yaml:"validation"`
		Conversion bool `yaml:"conversion"`
	} `yaml:"webhooks"`

	line int
}

// UnmarshalYAML also stores the line.
func (p *projectPart) UnmarshalYAML(node *yamlv3.Node) error {
	type plain projectPart
	if err := node.Decode((*plain)(p)); err != nil {
		return err
	}
	p.line = node.Line
	return nil
}

// layout converts the file to a Layout.
func (f projectFile) layout(root *yamlv3.Node) (*Layout, error) {
	version, _, _ := strings.Cut(f.Version, "-") // 3-alpha was the pre-release of version 3
	if !slices.Contains([]string{"", "1", "2", "3"}, version) {
		key, _ := child(root, "version")
		return nil, fmt.Errorf("%s:%d: a file of the form %q is not understood; known are 1, 2 and 3", ProjectFile, key.Line, f.Version)
	}
	l := &Layout{Name: f.Name}
	for _, part := range f.Resources {
		if part.Kind == "" || part.Version == "" {
			return nil, fmt.Errorf("%s:%d: a resource needs kind and version", ProjectFile, part.line)
		}
		hooks := part.Webhooks
		l.Resources = append(l.Resources, Resource{
			Version: part.Version, Kind: part.Kind, Line: part.line, Webhooks: hooks.Defaulting || hooks.Validation || hooks.Conversion,
		})
	}
	return l, nil
}

// decodeError formats the line like the other errors here.
func decodeError(err error) error {
	var mistyped *yamlv3.TypeError
	if !errors.As(err, &mistyped) {
		return fmt.Errorf("%s: %w", ProjectFile, err)
	}
	var problems []error
	for _, one := range mistyped.Errors {
		line, text, ok := strings.Cut(strings.TrimPrefix(one, "line "), ": ")
		if !ok {
			line, text = "1", one
		}
		problems = append(problems, fmt.Errorf("%s:%s: %s", ProjectFile, line, text))
	}
	return errors.Join(problems...)
}
