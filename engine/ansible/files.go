package ansible

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/operon-framework/operon/engine/ansible/internal/content"
)

// scan sets the files of the entry and what is known of their content. outside contains the files outside of the project that runs
// may use.
func (t *entry) scan(outside []string) (err error) {
	t.files = t.paths()
	if t.content, err = content.Of(t.dir, slices.Concat(t.files, outside), t.variablePrefix()); err != nil {
		return t.watch.Errorf("", "read the files of the entry: %w", err)
	}
	return nil
}

// candidates are the files and directories that Ansible finds beside watches.yaml and beside playbooks.
var candidates = []string{
	"ansible.cfg", "requirements.yml", "roles", "playbooks", "library", "module_utils", "filter_plugins", "lookup_plugins", "action_plugins",
	"test_plugins", "vars_plugins", "callback_plugins", "group_vars", "host_vars", "collections",
	"tasks", "handlers", "vars", "templates", "files",
}

// paths returns the files and directories that runs need: the roles and playbooks that the entry names, and what Ansible
// finds beside watches.yaml and beside playbooks.
func (t *entry) paths() []string {
	sources := []source{t.main}
	if t.finalizer != nil {
		sources = append(sources, t.finalizer.source)
	}
	var paths []string
	for _, name := range candidates {
		paths = append(paths, filepath.Join(t.dir, name))
	}
	for _, s := range sources {
		if s.role != "" {
			paths = append(paths, s.role)
			continue
		}
		for _, name := range append(besidePlaybook(filepath.Dir(s.playbook)), candidates...) {
			paths = append(paths, filepath.Join(filepath.Dir(s.playbook), name))
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return !exists(path) })
	slices.Sort(paths)
	return slices.Compact(paths)
}

// besidePlaybook returns the files in the directory of a playbook that it may include: other playbooks, tasks and variables.
func besidePlaybook(dir string) []string {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil // the playbook is not read either, which is reported
	}
	var names []string
	for _, one := range found {
		extension := filepath.Ext(one.Name())
		if !one.IsDir() && one.Name() != "watches.yaml" && slices.Contains([]string{".yml", ".yaml", ".json", ".j2"}, extension) {
			names = append(names, one.Name())
		}
	}
	return names
}

// outside returns the files outside of the project that decide what runs do: the roles in the roles path, and the versions of
// collections.
func (e *Engine) outside(dir string) []string {
	var paths []string
	for _, root := range filepath.SplitList(e.roles(dir)) {
		paths = append(paths, absolute(dir, root))
	}
	for _, root := range filepath.SplitList(e.collections(dir)) {
		root = absolute(dir, root)
		for _, name := range []string{"MANIFEST.json", "galaxy.yml"} {
			found, err := fs.Glob(os.DirFS(root), "ansible_collections/*/*/"+name)
			if err != nil {
				panic(err) // the pattern is valid
			}
			for _, one := range found {
				paths = append(paths, filepath.Join(root, one))
			}
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		inside, err := filepath.Rel(dir, path)
		return !exists(path) || err == nil && filepath.IsLocal(inside)
	})
}
