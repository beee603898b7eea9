// Package content reads the files of Ansible roles and playbooks, to tell whether they have changed and what runs of them depend on.
package content

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// Content is what is known of the files of roles and playbooks.
type Content struct {
	// Digest identifies it.
	Digest string
	// Open is the reason why a run may depend on more than its variables, its files and the API server, or empty.
	Open string
	// AsksAPI means that the expressions of a file ask the API server, in whatever task they are evaluated.
	AsksAPI bool
	// Mentions means that a file contains a name, and not only as the beginning of a longer one.
	Mentions bool
}

// Of reads files, and all files in directories. The digest does not depend on the place of dir, which contains most of them. name is
// what [Content.Mentions] is about.
func Of(dir string, roots []string, name string) (Content, error) {
	s := scanner{name: regexp.MustCompile(regexp.QuoteMeta(name) + `\b`), sum: sha256.New(), seen: map[string]bool{}}
	for _, root := range roots {
		label, err := filepath.Rel(dir, root)
		if err != nil || !filepath.IsLocal(label) {
			label = filepath.Base(root)
		}
		if err := s.tree(root, label); err != nil {
			return s.found, err
		}
	}
	s.found.Digest = hex.EncodeToString(s.sum.Sum(nil))
	return s.found, nil
}

// scanner reads files.
type scanner struct {
	name  *regexp.Regexp
	sum   hash.Hash
	seen  map[string]bool
	found Content
}

// elsewhere matches text in a role by which a run depends on more than its variables, its files and the API server.
var elsewhere = regexp.MustCompile(`\b(?:lookup|query|q)\s*\(\s*['"](?:[a-z_.]+\.)?(?:env|pipe|url|lines|password|dig|redis|etcd\w*|consul\w*|hashi_vault|aws_\w+|random_\w+|csvfile|ini|dns\w*|mongodb|shelvefile|unvault|vars_from\w*)['"]` +
	`|\bwith_(?:pipe|url|env|lines|password|random_choice)\b|\bnow\s*\(|\|\s*(?:random|shuffle|random_mac)\b|\bansible_date_time\b|\bansible_facts\b|\bstrftime\b`)

// asks matches expressions that ask the API server.
var asks = regexp.MustCompile(`\b(?:lookup|query|q)\s*\(\s*['"](?:kubernetes\.core\.|community\.kubernetes\.)?k8s['"]|\bwith_k8s\b`)

// tree adds the files below root to the digest, whose names begin with a label. It follows symbolic links, as Ansible does.
func (s *scanner) tree(root, label string) error {
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
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.Join(label, name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a link to nothing
			return nil
		case err != nil:
			return err
		case info.IsDir():
			return s.linked(path, name)
		case info.Mode().IsRegular():
			return s.file(path, name)
		}
		return nil
	})
}

// linked adds the files of a directory to which a symbolic link points, once.
func (s *scanner) linked(path, name string) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil || s.seen[target] {
		return err
	}
	s.seen[target] = true
	return s.tree(target, name)
}

// file adds a file to the digest.
func (s *scanner) file(path, name string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.sum, "%q %d\n", name, len(content))
	s.sum.Write(content)
	if found := elsewhere.Find(content); found != nil && s.found.Open == "" {
		s.found.Open = fmt.Sprintf("%s uses %s", name, found)
	}
	s.found.AsksAPI = s.found.AsksAPI || asks.Match(content)
	s.found.Mentions = s.found.Mentions || s.name.Match(content)
	return nil
}
