package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	yamlv3 "go.yaml.in/yaml/v3"
)

// Keys of metadata/annotations.yaml, which an image repeats as labels.
const (
	annotationPrefix  = "operators.operatorframework.io.bundle."
	mediaTypeKey      = annotationPrefix + "mediatype.v1"
	manifestsKey      = annotationPrefix + "manifests.v1"
	metadataKey       = annotationPrefix + "metadata.v1"
	packageKey        = annotationPrefix + "package.v1"
	channelsKey       = annotationPrefix + "channels.v1"
	defaultChannelKey = annotationPrefix + "channel.default.v1"

	// BuilderKey is the annotation with the tool that made a bundle.
	BuilderKey = "operators.operatorframework.io.metrics.builder"
)

// Builder is the value of BuilderKey in bundles that Operon made.
const Builder = "operon"

// registryV1 is the media type of the layout with the directories manifests and metadata.
const registryV1 = "registry+v1"

// annotations are the values of metadata/annotations.yaml, with their lines.
type annotations struct {
	file   string
	values map[string]string
	lines  map[string]int
}

// Annotations returns the annotations in metadata/annotations.yaml, which the image of the bundle has as labels.
func (b *Bundle) Annotations() map[string]string {
	if b.annotations == nil {
		return nil
	}
	return maps.Clone(b.annotations.values)
}

// readMetadata reads the directory metadata and the Dockerfile beside it.
func (r *reader) readMetadata() {
	r.annotations = &annotations{file: r.place(annotationsFile), values: map[string]string{}, lines: map[string]int{}}
	r.readAnnotations()
	r.Package, r.DefaultChannel = r.annotations.values[packageKey], r.annotations.values[defaultChannelKey]
	for channel := range strings.SplitSeq(r.annotations.values[channelsKey], ",") {
		if channel = strings.TrimSpace(channel); channel != "" {
			r.Channels = append(r.Channels, channel)
		}
	}
	if exists(r.files, DependenciesFile) {
		r.readDependencies()
	}
	if exists(r.files, PropertiesFile) {
		r.readProperties()
	}
	for _, name := range []string{"Dockerfile", "bundle.Dockerfile"} {
		if exists(r.files, name) {
			r.metadata[name] = r.read(name)
			r.labels = labelsOf(r.metadata[name])
			break
		}
	}
}

// AnnotationsRewritten returns the annotations as they are after they were written and read again.
func (b *Bundle) AnnotationsRewritten() (map[string]string, error) {
	var pairs []pair
	for _, key := range slices.Sorted(maps.Keys(b.annotations.values)) {
		pairs = append(pairs, pair{key, b.annotations.values[key]})
	}
	again := &annotations{values: map[string]string{}, lines: map[string]int{}}
	if len(pairs) == 0 {
		return again.values, nil
	}
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(annotationsYAML(pairs), &document); err != nil {
		return nil, err
	}
	_, below := entry(document.Content[0], "annotations")
	again.read(below)
	return again.values, nil
}

// readAnnotations reads the mapping below "annotations".
func (r *reader) readAnnotations() {
	root := r.yaml(annotationsFile)
	if root == nil {
		return
	}
	_, below := entry(root, "annotations")
	if below == nil || below.Kind != yamlv3.MappingNode {
		r.problem(r.annotations.file, root.Line, "want a mapping with the key annotations")
		return
	}
	r.annotations.read(below)
}

func (a *annotations) read(mapping *yamlv3.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if value.Kind == yamlv3.AliasNode {
			value = value.Alias
		}
		a.values[key.Value], a.lines[key.Value] = value.Value, key.Line
	}
}

// yaml returns the root of a file, which must be a mapping. It returns nil and adds a problem if it is not.
func (r *reader) yaml(name string) *yamlv3.Node {
	content := r.read(name)
	if content == nil {
		return nil
	}
	r.metadata[name] = content
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(content, &document); err != nil {
		r.Problems = append(r.Problems, parsed(r.place(name), yamlError(r.place(name), err)))
		return nil
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yamlv3.MappingNode {
		r.problem(r.place(name), 1, "want a mapping")
		return nil
	}
	return document.Content[0]
}

// yamlError puts the file before the line of a syntax error.
func yamlError(file string, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if line, ok := strings.CutPrefix(text, "line "); ok {
		return fmt.Errorf("%s:%s", file, line)
	}
	return fmt.Errorf("%s:1: %s", file, text)
}

// entry returns the key and the value of an entry of a mapping, or nil.
func entry(mapping *yamlv3.Node, name string) (key, value *yamlv3.Node) {
	for i := 0; mapping.Kind == yamlv3.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// Dependency is something that a bundle needs from other operators.
type Dependency struct {
	Type  string
	Value map[string]any

	any  any // the value, if it is not a mapping, too
	line int
}

func (r *reader) readDependencies() {
	for _, one := range r.list(DependenciesFile, "dependencies") {
		problems := one.check()
		for _, problem := range problems {
			r.problem(r.place(DependenciesFile), one.line, "%s", problem)
		}
		if len(problems) == 0 {
			r.Dependencies = append(r.Dependencies, one)
		}
	}
}

// Property is a fact about a bundle that constraints of other bundles can name.
type Property struct {
	Type  string
	Value any
}

// readProperties checks metadata/properties.yaml. Types and values of properties are free.
func (r *reader) readProperties() {
	for _, one := range r.list(PropertiesFile, "properties") {
		if one.Type == "" {
			r.problem(r.place(PropertiesFile), one.line, "the property has no type")
			continue
		}
		r.Properties = append(r.Properties, Property{one.Type, one.any})
	}
}

// list reads a file with one list of entries with a type and a value.
func (r *reader) list(file, key string) []Dependency {
	root := r.yaml(file)
	if root == nil {
		return nil
	}
	var all []Dependency
	for i := 0; i+1 < len(root.Content); i += 2 {
		name, value := root.Content[i], root.Content[i+1]
		if name.Value != key {
			r.problem(r.place(file), name.Line, "unknown field %s; want %s", name.Value, key)
			continue
		}
		if value.Kind != yamlv3.SequenceNode {
			r.problem(r.place(file), name.Line, "%s: want a list", key)
			continue
		}
		for _, node := range value.Content {
			one := Dependency{line: node.Line}
			var fields map[string]any
			if err := node.Decode(&fields); err != nil {
				r.problem(r.place(file), node.Line, "want a mapping with type and value")
				continue
			}
			for _, field := range slices.Sorted(maps.Keys(fields)) {
				if field != "type" && field != "value" {
					r.problem(r.place(file), node.Line, "unknown field %s; want type and value", field)
				}
			}
			one.Type, _ = fields["type"].(string)
			one.any = fields["value"]
			one.Value, _ = fields["value"].(map[string]any)
			all = append(all, one)
		}
	}
	return all
}

// checkRange returns a problem if text is not a range of versions.
func checkRange(field, text string) []string {
	if _, err := semver.ParseRange(text); err != nil {
		return []string{fmt.Sprintf("%s: %q is not a range of versions such as \">=1.0.0 <2.0.0\"", field, text)}
	}
	return nil
}
