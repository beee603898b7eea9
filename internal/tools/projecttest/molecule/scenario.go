package molecule

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DefaultName is the name of the scenario that runs if none is named, and if it exists.
const DefaultName = "default"

// Scenario is a directory with playbooks, and with molecule.yml.
type Scenario struct {
	// Name is the name of the directory.
	Name string

	projectDir string
	dir        string
	content    []byte // of molecule.yml
	settings   settings
}

// settings are the fields of molecule.yml that have an effect here. Those about linters, drivers and downloads have none.
type settings struct {
	Platforms []struct {
		Name             string
		Groups, Children []string
	}
	Provisioner struct {
		Playbooks     map[string]yaml.Node
		ConfigOptions map[string]map[string]string `yaml:"config_options"`
		Options       map[string]string
		AnsibleArgs   []string `yaml:"ansible_args"`
		Env           map[string]string
		Inventory     struct {
			Hosts     yaml.Node
			GroupVars map[string]yaml.Node `yaml:"group_vars"`
			HostVars  map[string]yaml.Node `yaml:"host_vars"`
			Links     map[string]string
		}
	}
	Verifier struct {
		Name string
		Env  map[string]string
	}
	Scenario struct {
		TestSequence []string `yaml:"test_sequence"`
	}
}

// sequence are the steps of molecule that run, in their usual order. Others create and destroy machines, which are clusters here, or check
// playbooks without a cluster.
var sequence = []string{"prepare", "converge", "side_effect", "verify", "cleanup"}

const settingsFile = "molecule.yml"

// Find returns a scenario of a project, or nil if the project does not have the one that runs by default.
func Find(projectDir, name string) (*Scenario, error) {
	s := &Scenario{Name: name, projectDir: projectDir}
	if name == "" {
		s.Name = DefaultName
	}
	s.dir = filepath.Join(projectDir, "molecule", s.Name)
	info, err := os.Stat(s.dir)
	if (err != nil || !info.IsDir()) && name == "" {
		return nil, nil
	}
	if err != nil || !info.IsDir() || s.Name != filepath.Base(s.Name) {
		return nil, fmt.Errorf("the project has no scenario %q: there is no directory %s%s", name, s.dir, others(projectDir))
	}
	if s.content, err = os.ReadFile(filepath.Join(s.dir, settingsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, s.read(inherited())
}

// others lists the scenarios of a project.
func others(projectDir string) string {
	entries, err := os.ReadDir(filepath.Join(projectDir, "molecule"))
	if err != nil {
		return ""
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; there is " + strings.Join(names, ", ")
}

// read reads molecule.yml with variables of an environment.
func (s *Scenario) read(env environment) error {
	s.settings = settings{}
	place := s.relative(filepath.Join(s.dir, settingsFile))
	if err := yaml.Unmarshal([]byte(env.expand(string(s.content))), &s.settings); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	if v := s.settings.Verifier.Name; v != "" && v != "ansible" {
		return fmt.Errorf("%s: the verifier %s is not supported: want ansible", place, v)
	}
	if len(s.settings.Provisioner.Inventory.Links) > 0 {
		return fmt.Errorf("%s: provisioner.inventory.links is not supported: write the variables to group_vars and host_vars", place)
	}
	return nil
}

// steps returns the steps of molecule that run, in order.
func (s *Scenario) steps() []string {
	if len(s.settings.Scenario.TestSequence) == 0 {
		return sequence
	}
	return slices.DeleteFunc(slices.Clone(s.settings.Scenario.TestSequence), func(step string) bool { return !slices.Contains(sequence, step) })
}

// playbook returns the path of the playbook of a step, or "" if the scenario has none. It is named in molecule.yml, or else in the
// directory of the scenario. An error means that it does not exist.
func (s *Scenario) playbook(step string) (string, error) {
	for _, name := range []string{step + ".yml", step + ".yaml"} {
		path := filepath.Join(s.dir, name)
		named, ok := s.settings.Provisioner.Playbooks[step]
		if ok && named.Kind == yaml.ScalarNode {
			path = named.Value
			if !filepath.IsAbs(path) {
				path = filepath.Join(s.dir, path)
			}
		}
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if ok && named.Kind == yaml.ScalarNode {
			return "", fmt.Errorf("the playbook %s of %s does not exist", s.relative(path), step)
		}
	}
	return "", nil
}

// tests returns whether the scenario has files of tasks that verify.yml usually includes.
func (s *Scenario) tests() bool {
	entries, err := os.ReadDir(filepath.Join(s.dir, "tasks"))
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), "_test.yml") })
}

// relative returns a path relative to the project, if it is in there.
func (s *Scenario) relative(path string) string {
	if inside, err := filepath.Rel(s.projectDir, path); err == nil && filepath.IsLocal(inside) {
		return inside
	}
	return path
}

// namespace returns the namespace that a scenario uses, if it sets the variable without a template.
func (s *Scenario) namespace(env environment) string {
	name := env["TEST_OPERATOR_NAMESPACE"]
	for _, vars := range []map[string]string{s.set("group_vars", "all"), s.set("host_vars", "localhost")} {
		if value := vars["namespace"]; value != "" && !strings.Contains(value, "{{") {
			name = value
		}
	}
	return name
}

// set returns the variables with a simple value that a scenario sets for a host or group.
func (s *Scenario) set(kind, name string) map[string]string {
	all := s.settings.Provisioner.Inventory.GroupVars
	if kind == "host_vars" {
		all = s.settings.Provisioner.Inventory.HostVars
	}
	node, values := all[name], map[string]string{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		values[node.Content[i].Value] = node.Content[i+1].Value
	}
	return values
}
