package molecule

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/project"
)

// environment are environment variables.
type environment map[string]string

// reference is a reference to a variable in molecule.yml: $$, $NAME, ${NAME}, ${NAME-default} or ${NAME:-default}.
var reference = regexp.MustCompile(`\$(?:(\$)|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?-)([^}]*))?\})`)

// expand replaces references to variables. A default may be another reference. A variable that is not set and has no default is
// empty.
func (e environment) expand(text string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		parts := reference.FindStringSubmatch(found)
		escaped, plain, braced, operator, fallback := parts[1], parts[2], parts[3], parts[4], parts[5]
		if name, is := strings.CutPrefix(fallback, "$"); is {
			fallback = e[name]
		}
		value, set := e[braced]
		switch {
		case escaped != "":
			return "$"
		case plain != "":
			return e[plain]
		case operator == ":-" && value == "", operator == "-" && !set:
			return fallback
		}
		return value
	})
}

// list returns the variables as NAME=VALUE.
func (e environment) list() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		all = append(all, name+"="+e[name])
	}
	return all
}

// inherited returns the environment of this process without the variables that select a cluster.
func inherited() environment {
	env := environment{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "K8S_AUTH_") && !strings.HasPrefix(name, "KUBERNETES_") && !strings.HasPrefix(name, "MOLECULE_") {
			env[name] = value
		}
	}
	return env
}

// environment returns the environment of playbooks: that of this process, and the variables of molecule.
func (s *Scenario) environment(w workspace, namespace string) environment {
	env := inherited()
	for name, value := range map[string]string{
		"MOLECULE_SCENARIO_NAME": s.Name, "MOLECULE_SCENARIO_DIRECTORY": s.dir, "MOLECULE_PROJECT_DIRECTORY": s.projectDir,
		"MOLECULE_EPHEMERAL_DIRECTORY": w.dir, "MOLECULE_FILE": w.file(settingsFile), "MOLECULE_INVENTORY_FILE": w.inventory(),
		"MOLECULE_INSTANCE_CONFIG": w.file("instance_config.yml"), "MOLECULE_DRIVER_NAME": "delegated", "MOLECULE_PROVISIONER_NAME": "ansible",
		"MOLECULE_VERIFIER_NAME": "ansible", "MOLECULE_DEBUG": "False",
		"PATH":                     w.file("bin") + string(filepath.ListSeparator) + env["PATH"],
		"KUSTOMIZE_PATH":           filepath.Join(w.file("bin"), "kustomize"),
		"ANSIBLE_CONFIG":           w.file("ansible.cfg"),
		"ANSIBLE_ROLES_PATH":       s.search(env["ANSIBLE_ROLES_PATH"], "roles", "roles", ".."),
		"ANSIBLE_COLLECTIONS_PATH": s.search(env["ANSIBLE_COLLECTIONS_PATH"], "collections", "collections"),
		"ANSIBLE_LIBRARY":          s.search(env["ANSIBLE_LIBRARY"], "plugins/modules", "library", "plugins/modules"),
		"ANSIBLE_FILTER_PLUGINS":   s.search(env["ANSIBLE_FILTER_PLUGINS"], "plugins/filter", "filter_plugins", "plugins/filter"),
		"PYTHONUNBUFFERED":         "1",
		"OPERON_TEST_CONFIG":       filepath.Join(s.projectDir, "config"),
		"OPERON_TEST_KUSTOMIZE":    realKustomize(env),
	} {
		env[name] = value
	}
	for name, value := range map[string]string{
		"TEST_OPERATOR_NAMESPACE": namespace, "OPERATOR_IMAGE": "operator:test", "OPERATOR_PULL_POLICY": "Never",
	} {
		if env[name] == "" {
			env[name] = value
		}
	}
	return env.with(w.own())
}

// with returns the environment with further variables, which take precedence.
func (e environment) with(others environment) environment {
	all := maps.Clone(e)
	maps.Copy(all, others)
	return all
}

// search returns a list of directories: those in the project, those of the user and of the system, and those that were set before.
func (s *Scenario) search(before, usual string, inside ...string) string {
	var list []string
	for _, dir := range inside {
		list = append(list, filepath.Join(s.projectDir, dir))
	}
	if home, err := os.UserHomeDir(); err == nil {
		list = append(list, filepath.Join(home, ".ansible", usual))
	}
	list = append(list, filepath.Join("/usr/share/ansible", usual))
	if before != "" {
		list = append(list, before)
	}
	return strings.Join(list, string(filepath.ListSeparator))
}

// defaults are the variables that the stock scenario of Operator SDK gives its playbooks. A scenario may set others.
func (s *Scenario) defaults(env environment) map[string]any {
	return map[string]any{
		"namespace": env["TEST_OPERATOR_NAMESPACE"], "project_dir": s.projectDir, "config_dir": filepath.Join(s.projectDir, "config"),
		"samples_dir": filepath.Join(s.projectDir, project.SampleFolder), "kustomize": env["KUSTOMIZE_PATH"], "kubeconfig": env["KUBECONFIG"],
		"operator_image": env["OPERATOR_IMAGE"], "operator_pull_policy": env["OPERATOR_PULL_POLICY"],
		"ansible_python_interpreter": "{{ ansible_playbook_python }}",
		"molecule_file":              "{{ lookup('env', 'MOLECULE_FILE') }}", "molecule_yml": "{{ lookup('file', molecule_file) | from_yaml }}",
		"molecule_ephemeral_directory": "{{ lookup('env', 'MOLECULE_EPHEMERAL_DIRECTORY') }}",
		"molecule_scenario_directory":  "{{ lookup('env', 'MOLECULE_SCENARIO_DIRECTORY') }}",
	}
}
