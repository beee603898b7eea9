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

// labelsOf are what an image tells of itself, by the names that OCI gives them, all of it from the commit and the options.
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

// source is where the repository is, as far as the module's path tells: less the module's directory in it, and less the suffix of a
// major version. It is "" where the path does not end so, or names no place of sources: a wrong one is worse than none. A remote
// of git's would tell more, but it differs between clones of the same commit, and may hold a password.
func source(path string, r revision) string {
	if r.Commit == "" {
		return "" // nobody knows which directory the path names
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
	// reserved are names of hosts that nobody has (RFC 2606), as in the path of a project that was just begun.
	reserved = regexp.MustCompile(`^(.+\.)?(example\.(com|net|org)|(test|example|invalid|localhost))$`)
	// ownersHosts have their repositories at HOST/OWNER/NAME, all of them.
	ownersHosts = []string{"bitbucket.org", "github.com"}
)

// repositoryOf takes what names a directory in the repository, and a major version, off a module's path.
func repositoryOf(path, folder string) (string, bool) {
	unversioned := path
	if before, major, ok := module.SplitPathVersion(path); ok && strings.HasPrefix(major, "/") {
		unversioned = before
	}
	if folder == "" {
		return unversioned, true
	}
	if repository, ok := strings.CutSuffix(path, "/"+folder); ok { // one for each major version, too
		return repository, true
	}
	return strings.CutSuffix(unversioned, "/"+folder)
}
