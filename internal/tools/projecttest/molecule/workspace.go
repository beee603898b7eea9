package molecule

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// files are the files that playbooks need: a callback plugin, a program named kustomize, and a verify.yml for scenarios without one.
//
//go:embed files
var files embed.FS

// workspace is the directory of the files that a scenario needs while it runs. Only this user can read it.
type workspace struct{ dir string }

func (w workspace) file(name string) string { return filepath.Join(w.dir, name) }
func (w workspace) inventory() string {
	return filepath.Join(w.dir, "inventory", "ansible_inventory.yml")
}
func (w workspace) events() string { return w.file("events") }
func (w workspace) verify() string { return w.file("verify.yml") }

// own returns the variables that neither the user nor a scenario may set.
func (w workspace) own() environment {
	return environment{
		"KUBECONFIG": w.file("kubeconfig"), "K8S_AUTH_KUBECONFIG": w.file("kubeconfig"),
		"OPERON_TEST_EVENTS": w.events(), "OPERON_TEST_RUN": w.dir,
	}
}

// newWorkspace creates the directory, in place of that of an interrupted test.
func newWorkspace(dir string, kubeconfig []byte) (workspace, error) {
	w := workspace{dir}
	sweep(w)
	if err := os.RemoveAll(dir); err != nil {
		return w, err
	}
	for _, below := range []string{"bin", "callback", "inventory/group_vars", "inventory/host_vars"} {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o700); err != nil {
			return w, err
		}
	}
	problems := []error{os.WriteFile(w.file("kubeconfig"), kubeconfig, 0o600)}
	for from, to := range map[string]string{"kustomize.sh": "bin/kustomize", "operon_test.py": "callback/operon_test.py", "verify.yml": "verify.yml"} {
		content, err := files.ReadFile("files/" + from)
		if err == nil {
			err = os.WriteFile(w.file(to), content, 0o700)
		}
		problems = append(problems, err)
	}
	return w, errors.Join(problems...)
}

// prepare writes molecule.yml, ansible.cfg and the inventory of a scenario, which was read with the environment.
func (w workspace) prepare(s *Scenario, env environment) error {
	inventory, err := json.Marshal(s.inventory(env))
	if err != nil {
		return err
	}
	problems := []error{
		os.WriteFile(w.file(settingsFile), []byte(env.expand(string(s.content))), 0o600), os.WriteFile(w.inventory(), inventory, 0o600),
		os.WriteFile(w.file("ansible.cfg"), []byte(s.ansibleConfig()), 0o600),
		w.writeVars("group_vars", s.settings.Provisioner.Inventory.GroupVars), w.writeVars("host_vars", s.settings.Provisioner.Inventory.HostVars),
	}
	if hosts := s.settings.Provisioner.Inventory.Hosts; !hosts.IsZero() {
		problems = append(problems, writeYAML(filepath.Join(w.dir, "inventory", "hosts.yml"), hosts))
	}
	return errors.Join(problems...)
}

// writeVars writes variables as they are in molecule.yml, with their tags.
func (w workspace) writeVars(dir string, vars map[string]yaml.Node) error {
	var problems []error
	for name, node := range vars {
		if name != filepath.Base(name) {
			problems = append(problems, fmt.Errorf("%s: %s: %q is not the name of a host or group", settingsFile, dir, name))
			continue
		}
		problems = append(problems, writeYAML(filepath.Join(w.dir, "inventory", dir, name), node))
	}
	return errors.Join(problems...)
}

func writeYAML(path string, node yaml.Node) error {
	content, err := yaml.Marshal(&node)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// inventory returns the hosts, which are the platforms of the scenario, and the variables of all hosts. localhost, which playbooks usually
// name, needs no entry.
func (s *Scenario) inventory(env environment) map[string]any {
	hosts, groups := map[string]any{}, map[string]any{}
	for _, platform := range s.settings.Platforms {
		self := map[string]any{platform.Name: map[string]any{"ansible_connection": "local"}}
		maps.Copy(hosts, self)
		below := map[string]any{}
		for _, child := range platform.Children {
			below[child] = map[string]any{"hosts": self}
		}
		for _, group := range platform.Groups {
			entry, ok := groups[group].(map[string]any)
			if !ok {
				entry = map[string]any{"hosts": map[string]any{}, "children": map[string]any{}}
				groups[group] = entry
			}
			maps.Copy(entry["hosts"].(map[string]any), self)
			maps.Copy(entry["children"].(map[string]any), below)
		}
	}
	if len(hosts) == 0 {
		hosts["cluster"] = map[string]any{"ansible_connection": "local"}
	}
	return map[string]any{"all": map[string]any{"hosts": hosts, "children": groups, "vars": s.defaults(env)}}
}

// ansibleConfig returns the content of ansible.cfg, with the settings in molecule.yml.
func (s *Scenario) ansibleConfig() string {
	sections := map[string]map[string]string{"defaults": {"host_key_checking": "False", "nocows": "1", "retry_files_enabled": "False", "interpreter_python": "auto_silent"}}
	for section, settings := range s.settings.Provisioner.ConfigOptions {
		if sections[section] == nil {
			sections[section] = map[string]string{}
		}
		maps.Copy(sections[section], settings)
	}
	var text strings.Builder
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		fmt.Fprintf(&text, "[%s]\n", section)
		for _, name := range slices.Sorted(maps.Keys(sections[section])) {
			fmt.Fprintf(&text, "%s = %s\n", name, sections[section][name])
		}
	}
	return text.String()
}

// realKustomize returns the program that builds directories other than those of the operator, or "".
func realKustomize(env environment) string {
	name := env["KUSTOMIZE_PATH"]
	if name == "" {
		name = "kustomize"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}
