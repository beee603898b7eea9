package ansible

import (
	"slices"
	"strings"
)

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
func opens(t task) string {
	module := t.Action
	if i := strings.LastIndexByte(module, '.'); i >= 0 {
		if !slices.Contains(closedCollections, module[:i]) {
			return "the task " + t.Name + " uses " + t.Action
		}
		module = module[i+1:]
	}
	if slices.Contains(closed, module) {
		return ""
	}
	return "the task " + t.Name + " uses " + t.Action
}

// appliers contains the modules that read an object only in order to change it. The status of such an object does not count as
// read.
var appliers = []string{"k8s", "k8s_scale", "k8s_service", "k8s_json_patch", "k8s_status", "k8s_event"}

// readsStatus reports whether a task may use the status of the objects that it asks for.
func (t task) readsStatus() bool {
	module := t.Action[strings.LastIndexByte(t.Action, '.')+1:]
	return t.Registered || !slices.Contains(appliers, module)
}
