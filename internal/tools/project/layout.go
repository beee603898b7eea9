package project

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Layout is what the PROJECT file of kubebuilder and Operator SDK says of a project.
type Layout struct {
	// Version is the file's form: "1", "2" or "3".
	Version string
	// Plugins made the layout, the first one foremost: go.kubebuilder.io/v4. Files of the forms 1 and 2
	// do not say it: it is go.kubebuilder.io/v1 or v2 then.
	Plugins []string
	// Others are further plugins that keep settings in the file, in order:
	// manifests.sdk.operatorframework.io/v2.
	Others []string
	// Domain ends the groups of the project's API.
	Domain string
	// Name is the operator's, Repo the module's path. Either may be "".
	Name, Repo string
	// Multigroup: each group of the API has a folder of its own.
	Multigroup bool
	// Namespaced: the operator is to work in its own namespace only.
	Namespaced bool
	// Resources are the kinds, in order.
	Resources []Resource
}

// Resource is a kind that a PROJECT file lists.
type Resource struct {
	// Group is the full one: with its domain, apps for a kind of Kubernetes'.
	Group, Version, Kind string
	// Plural is "" where it is the usual one.
	Plural string
	// Path is the Go package of its types; "" where the file does not say it.
	Path string
	// API: the project defines the kind. Namespaced: its objects are in namespaces.
	API, Namespaced bool
	// Controller: the project has a controller for it.
	Controller bool
	// External: another project defines it; Core: Kubernetes does.
	External, Core bool
	// Defaulting, Validation and Conversion are the webhooks that the project has for it.
	Defaulting, Validation, Conversion bool
	// Line is where the file lists it.
	Line int
}

// ProjectFile is the name of the file that a Layout is read from.
const ProjectFile = "PROJECT"

// Go tells whether the project is one of Go, and of which version of kubebuilder's layout: 2, 3 or 4;
// 0 for one that is unknown. A project of Operator SDK's for Helm or Ansible is none of Go.
func (l *Layout) Go() (version int, is bool) {
	for _, plugin := range l.Plugins {
		name, versioned, _ := strings.Cut(plugin, "/")
		// Operator SDK's own, of the time before it took over kubebuilder's, and hybrids.
		if name != "go.kubebuilder.io" && name != "go.sdk.operatorframework.io" && !strings.HasPrefix(name, "base.go.") {
			continue
		}
		fmt.Sscanf(versioned, "v%d", &version)
		return version, true
	}
	return 0, false
}

// OperatorSDK tells whether Operator SDK made the project.
func (l *Layout) OperatorSDK() bool {
	return slices.ContainsFunc(slices.Concat(l.Plugins, l.Others), func(plugin string) bool {
		name, _, _ := strings.Cut(plugin, "/")
		return strings.HasSuffix(name, ".sdk.operatorframework.io")
	})
}

// ReadLayout reads the PROJECT file in dir. It is nil where there is none.
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

// ParseLayout reads the content of a PROJECT file. Errors name PROJECT and the line. What is unknown in it is
// left out: newer tools write more.
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

// projectFile is the file as it is written, in all forms.
type projectFile struct {
	Version    string         `yaml:"version"`
	Layout     oneOrMore      `yaml:"layout"`
	Plugins    map[string]any `yaml:"plugins"`
	Domain     string         `yaml:"domain"`
	Name       string         `yaml:"projectName"`
	Repo       string         `yaml:"repo"`
	Multigroup bool           `yaml:"multigroup"`
	Namespaced bool           `yaml:"namespaced"`
	Resources  []projectPart  `yaml:"resources"`
}

// projectPart is one of the resources.
type projectPart struct {
	Group      string `yaml:"group"`
	Domain     string `yaml:"domain"`
	Version    string `yaml:"version"`
	Kind       string `yaml:"kind"`
	Plural     string `yaml:"plural"`
	Path       string `yaml:"path"`
	Controller bool   `yaml:"controller"`
	External   bool   `yaml:"external"`
	Core       bool   `yaml:"core"`
	API        *struct {
		Namespaced bool `yaml:"namespaced"`
	} `yaml:"api"`
	Webhooks struct {
		Defaulting bool `yaml:"defaulting"`
		Validation bool `yaml:"validation"`
		Conversion bool `yaml:"conversion"`
	} `yaml:"webhooks"`

	line int
}

// UnmarshalYAML keeps the line.
func (p *projectPart) UnmarshalYAML(node *yamlv3.Node) error {
	type plain projectPart
	if err := node.Decode((*plain)(p)); err != nil {
		return err
	}
	p.line = node.Line
	return nil
}

// oneOrMore is a list, or what is its one element.
type oneOrMore []string

// UnmarshalYAML takes both.
func (l *oneOrMore) UnmarshalYAML(node *yamlv3.Node) error {
	if node.Kind == yamlv3.ScalarNode {
		var one string
		err := node.Decode(&one)
		*l = strings.FieldsFunc(one, func(r rune) bool { return r == ',' })
		return err
	}
	return node.Decode((*[]string)(l))
}

// layout is the file's meaning.
func (f projectFile) layout(root *yamlv3.Node) (*Layout, error) {
	version, _, _ := strings.Cut(f.Version, "-") // 3-alpha was the form 3 before it was done
	if !slices.Contains([]string{"", "1", "2", "3"}, version) {
		key, _ := child(root, "version")
		return nil, fmt.Errorf("%s:%d: a file of the form %q is not understood; known are 1, 2 and 3", ProjectFile, key.Line, f.Version)
	}
	if version == "" {
		version = "1"
	}
	l := &Layout{
		Version: version, Plugins: f.Layout, Others: slices.Sorted(maps.Keys(f.Plugins)),
		Domain: f.Domain, Name: f.Name, Repo: f.Repo, Multigroup: f.Multigroup, Namespaced: f.Namespaced,
	}
	if len(l.Plugins) == 0 && version != "3" {
		l.Plugins = []string{"go.kubebuilder.io/v" + version}
	}
	for _, part := range f.Resources {
		if part.Kind == "" || part.Version == "" {
			return nil, fmt.Errorf("%s:%d: a resource needs kind and version", ProjectFile, part.line)
		}
		l.Resources = append(l.Resources, part.resource(f.Domain, version))
	}
	return l, nil
}

func (p projectPart) resource(domain, form string) Resource {
	r := Resource{
		Version: p.Version, Kind: p.Kind, Plural: p.Plural, Path: p.Path, Controller: p.Controller,
		External: p.External, Core: p.Core, Line: p.line,
		Defaulting: p.Webhooks.Defaulting, Validation: p.Webhooks.Validation, Conversion: p.Webhooks.Conversion,
		API: p.API != nil, Namespaced: p.API != nil && p.API.Namespaced,
	}
	if form != "3" { // which lists APIs only, and says nothing more of them
		p.Domain, r.API = domain, true
	}
	r.Group = strings.Trim(p.Group+"."+p.Domain, ".")
	return r
}

// decodeError names the line in the way of all errors here.
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
