package workload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/operon-framework/operon/internal/tools/glob"
)

// Read reads workloads written by users: a file, or all *.yaml and *.yml files of a directory in the
// order of their names. Each document is one workload. docs/prove/workloads.md describes the format. Files that a step names
// are relative to the file of the workload.
//
// Errors name the file, the line and the field, and include all problems. An unknown field is an error.
func Read(path string) ([]Workload, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = glob.In(path, "*.y*ml"); err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("no scenarios in %s: it contains no *.yaml file", path)
		}
	}
	var all []Workload
	var problems []error
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		read, err := Parse(file, content)
		all, problems = append(all, read...), append(problems, err)
	}
	for i, w := range all {
		if slices.ContainsFunc(all[:i], func(other Workload) bool { return other.Name == w.Name }) {
			problems = append(problems, fmt.Errorf("%s: two scenarios are named %q", path, w.Name))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return all, nil
}

// Parse is [Read] for the content of a file. The file name is used in errors, and to find the files that a step names.
func Parse(file string, content []byte) ([]Workload, error) {
	decoder := yamlv3.NewDecoder(bytes.NewReader(content))
	var all []Workload
	var problems []error
	for {
		var document yamlv3.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			problems = append(problems, syntax(file, err))
			break
		}
		if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
			continue
		}
		r := &reader{file: file}
		w := r.workload(document.Content[0])
		all, problems = append(all, w), append(problems, r.problems...)
	}
	if len(all) == 0 && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("%s: contains no scenario", file))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return all, nil
}

var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax returns a parser's error with the position in the format that editors recognize.
func syntax(file string, err error) error {
	line := 1
	if found := syntaxLine.FindStringSubmatch(err.Error()); found != nil {
		line, _ = strconv.Atoi(found[1])
	}
	return fmt.Errorf("%s:%d: %s", file, max(line, 1), syntaxLine.ReplaceAllString(err.Error(), ""))
}

// reader reads one document and collects its problems.
type reader struct {
	file     string
	problems []error
	known    []applied
}

// wrong records a problem at a node.
func (r *reader) wrong(at *yamlv3.Node, field, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if field != "" {
		text = field + ": " + text
	}
	r.problems = append(r.problems, fmt.Errorf("%s:%d: %s", r.file, at.Line, text))
}

func (r *reader) workload(root *yamlv3.Node) Workload {
	var w Workload
	var steps []*yamlv3.Node
	r.fields(root, "", map[string]func(*yamlv3.Node, string){
		"workload": func(n *yamlv3.Node, at string) { w.Name = r.text(n, at) },
		"steps":    func(n *yamlv3.Node, at string) { steps = r.list(n, at) },
	})
	if w.Name == "" {
		r.wrong(root, "workload", "it needs a name")
	}
	if len(steps) == 0 {
		r.wrong(root, "steps", "there are none")
	}
	before := history{}
	for i, node := range steps {
		at := fmt.Sprintf("steps[%d]", i)
		found := len(r.problems)
		step := r.step(node, at, before.names)
		if len(r.problems) == found { // otherwise the step is incomplete
			for _, err := range step.problems(before) {
				r.wrong(node, at, "%s", err)
			}
		}
		before.add(step)
		w.Steps = append(w.Steps, step)
	}
	return w
}

// fields passes each value of a mapping to the function that reads it.
func (r *reader) fields(node *yamlv3.Node, at string, known map[string]func(*yamlv3.Node, string)) {
	node = behind(node)
	if node.Kind != yamlv3.MappingNode {
		r.wrong(node, at, "want a mapping with %s", names(known))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		path := strings.TrimPrefix(at+"."+key.Value, ".")
		read := known[key.Value]
		switch {
		case read == nil:
			r.wrong(key, path, "unknown field; known fields are %s", names(known))
		case seen[key.Value]:
			r.wrong(key, path, "it is here a second time")
		default:
			seen[key.Value] = true
			read(behind(value), path)
		}
	}
}

// behind returns the node of an alias, or the node itself.
func behind(node *yamlv3.Node) *yamlv3.Node {
	if node.Kind == yamlv3.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}

func names(known map[string]func(*yamlv3.Node, string)) string {
	var all []string
	for name := range known {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (r *reader) list(node *yamlv3.Node, at string) []*yamlv3.Node {
	if node.Kind != yamlv3.SequenceNode {
		r.wrong(node, at, "want a list")
		return nil
	}
	return node.Content
}

// listOf returns the elements of a list. A node that is not a list is the only element.
func listOf(node *yamlv3.Node) []*yamlv3.Node {
	if node.Kind == yamlv3.SequenceNode {
		return node.Content
	}
	return []*yamlv3.Node{node}
}

func (r *reader) text(node *yamlv3.Node, at string) string {
	if node.Kind != yamlv3.ScalarNode || node.Tag != "!!str" || node.Value == "" {
		r.wrong(node, at, "want a text")
		return ""
	}
	return node.Value
}

func (r *reader) yes(node *yamlv3.Node, at string) bool {
	if node.Kind != yamlv3.ScalarNode || node.Tag != "!!bool" || node.Value != "true" {
		r.wrong(node, at, "want true, or leave it out")
		return false
	}
	return true
}

func (r *reader) number(node *yamlv3.Node, at string) int {
	number, err := strconv.Atoi(node.Value)
	if node.Kind != yamlv3.ScalarNode || err != nil {
		r.wrong(node, at, "want a whole number")
	}
	return number
}
