package playbook

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Task describes a task of a role or playbook.
type Task struct {
	Name string `json:"name"`
	// Role is empty for a task of a playbook.
	Role string `json:"role"`
	// Path is the file and the line.
	Path string `json:"path"`
	// Action is the full name of the module.
	Action string `json:"action"`
	// Elsewhere means that the arguments of the task choose a cluster.
	Elsewhere bool `json:"elsewhere"`
	// Registered means that the result is stored in a variable.
	Registered bool `json:"registered"`
}

// closed contains the modules whose result depends on their arguments, on files of the role and on what they ask the API server
// through the proxy. A run of other modules depends on more than its record, and is repeated after a period.
var closed = []string{
	"add_host", "assert", "debug", "fail", "group_by", "import_playbook", "import_role", "import_tasks", "include", "include_role",
	"include_tasks", "include_vars", "meta", "set_fact", "set_stats", "template", "validate_argument_spec", "set_fact",
	"copy", "file", "stat", "slurp", "tempfile", "blockinfile", "lineinfile", "replace",
	"k8s", "k8s_info", "k8s_scale", "k8s_service", "k8s_json_patch", "k8s_status", "k8s_event", "requeue_after", "osdk_metric",
}

// closedCollections contains the collections of the modules in closed.
var closedCollections = []string{"ansible.builtin", "ansible.legacy", "kubernetes.core", "community.kubernetes", "operator_sdk.util"}

// opens returns why a task makes a run depend on more than its record, or an empty string.
func (t Task) opens() string {
	module := t.Action
	if i := strings.LastIndexByte(module, '.'); i >= 0 {
		if !slices.Contains(closedCollections, module[:i]) {
			return "the task " + t.Name + " uses " + t.Action
		}
		module = module[i+1:]
	}
	if t.Elsewhere && strings.HasPrefix(module, "k8s") { // the proxy does not see what it does
		return "the task " + t.Name + " chooses a cluster"
	}
	if slices.Contains(closed, module) {
		return ""
	}
	return "the task " + t.Name + " uses " + t.Action
}

// appliers contains the modules that read an object only in order to change it. The status of such an object does not count as
// read.
var appliers = []string{"k8s", "k8s_scale", "k8s_service", "k8s_json_patch", "k8s_status", "k8s_event"}

// ReadsStatus reports whether a task may use the status of the objects that it asks for.
func (t Task) ReadsStatus() bool {
	module := t.Action[strings.LastIndexByte(t.Action, '.')+1:]
	return t.Registered || !slices.Contains(appliers, module)
}

// describe returns a message with the place of the task.
func (t Task) describe(message string) string {
	place := fmt.Sprintf("task %q", t.Name)
	if t.Role != "" {
		place = fmt.Sprintf("role %s, %s", filepath.Base(t.Role), place)
	}
	if t.Path != "" {
		place += ", " + t.Path
	}
	return fmt.Sprintf("%s (%s)", strings.TrimSpace(message), place)
}
