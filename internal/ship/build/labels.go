package build

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"

	"github.com/operon-framework/operon/internal/tools/project"
)

// labelsOf returns the labels of an image, with the names that OCI defines. All of them depend only on the commit and the
// options.
func (o Options) labelsOf(p *project.Project, r revision) map[string]string {
	const prefix = "org.opencontainers.image."
	known := map[string]string{
		"title":    p.Name,
		"revision": r.Commit,
		"source":   source(p.Module.Path, r),
		"version":  o.Version,
		"created":  r.Time.Format(time.RFC3339),
	}
	labels := map[string]string{}
	for name, value := range known {
		if value != "" {
			labels[prefix+name] = value
		}
	}
	maps.Copy(labels, o.Labels)
	return labels
}

// source returns the URL of the repository, as far as the module's path shows it: the path without the module's directory in
// the repository and without the suffix of a major version. It returns "" if the path does not end with these, or is not a
// URL of sources: a wrong URL is worse than none. A git remote would be more informative, but it differs between clones of
// the same commit, and may contain a password.
func source(path string, r revision) string {
	if r.Commit == "" {
		return "" // the directory that the path names is unknown
	}
	path, ok := repositoryOf(path, r.Folder)
	elements := strings.Split(path, "/")
	host := elements[0]
	if !ok || !strings.Contains(host, ".") || len(elements) < 2 || reserved.MatchString(host) {
		return ""
	}
	if slices.Contains(ownersHosts, host) && len(elements) != 3 {
		return ""
	}
	return "https://" + path
}

var (
	// reserved matches host names that are never registered (RFC 2606), as in the path of a new project.
	reserved = regexp.MustCompile(`^(.+\.)?(example\.(com|net|org)|(test|example|invalid|localhost))$`)
	// ownersHosts lists hosts whose repositories are all at HOST/OWNER/NAME.
	ownersHosts = []string{"bitbucket.org", "github.com"}
)

// repositoryOf removes the directory in the repository and a major version from a module's path.
func repositoryOf(path, folder string) (string, bool) {
	unversioned := path
	if before, major, ok := module.SplitPathVersion(path); ok && strings.HasPrefix(major, "/") {
		unversioned = before
	}
	if folder == "" {
		return unversioned, true
	}
	if repository, ok := strings.CutSuffix(path, "/"+folder); ok { // also one directory for each major version
		return repository, true
	}
	return strings.CutSuffix(unversioned, "/"+folder)
}
