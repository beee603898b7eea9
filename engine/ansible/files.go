package ansible

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// scan sets the files of the entry, their digest, and whether they make runs depend on more than the API server.
func (t *entry) scan() error {
	t.files = t.paths()
	sum := sha256.New()
	for _, root := range t.files {
		if err := t.scanTree(root, sum); err != nil {
			return t.watch.Errorf("", "read the files of the entry: %w", err)
		}
	}
	t.digest = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// paths returns the files and directories that runs need: the roles and playbooks that the entry names, and what Ansible
// finds beside watches.yaml and beside playbooks.
func (t *entry) paths() []string {
	sources := []source{t.main}
	if t.finalizer != nil {
		sources = append(sources, t.finalizer.source)
	}
	candidates := []string{"ansible.cfg", "requirements.yml", "roles", "playbooks", "library", "module_utils", "filter_plugins", "group_vars", "host_vars", "collections"}
	var paths []string
	for _, name := range candidates {
		paths = append(paths, filepath.Join(t.dir, name))
	}
	for _, s := range sources {
		if s.role != "" {
			paths = append(paths, s.role)
			continue
		}
		for _, name := range append(candidates, filepath.Base(s.playbook)) {
			paths = append(paths, filepath.Join(filepath.Dir(s.playbook), name))
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return !exists(path) })
	slices.Sort(paths)
	return slices.Compact(paths)
}

// elsewhere matches text in a role by which a run depends on more than its variables, its files and the API server.
var elsewhere = regexp.MustCompile(`\b(?:lookup|query|q)\s*\(\s*['"](?:[a-z_.]+\.)?(?:env|pipe|url|lines|password|dig|redis|etcd\w*|consul\w*|hashi_vault|aws_\w+|random_\w+|csvfile|ini|dns\w*|mongodb|shelvefile|unvault|vars_from\w*)['"]` +
	`|\bwith_(?:pipe|url|env|lines|password|random_choice)\b|\bnow\s*\(|\|\s*(?:random|shuffle|random_mac)\b|\bansible_date_time\b|\bansible_facts\b|\bstrftime\b`)

// scanTree adds the files below root to the digest.
func (t *entry) scanTree(root string, sum hash.Hash) error {
	return filepath.WalkDir(root, func(path string, file fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if file.IsDir() {
			if file.Name() == ".git" || file.Name() == "__pycache__" || file.Name() == "molecule" {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(t.dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %d\n", name, len(content))
		sum.Write(content)
		if found := elsewhere.Find(content); found != nil && t.open == "" {
			t.open = fmt.Sprintf("%s uses %s", name, found)
		}
		return nil
	})
}
