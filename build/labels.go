package build

import (
	"maps"
	"strings"
	"time"

	"github.com/operon-framework/operon/project"
)

// labelsOf are what an image tells of itself, by the names that OCI gives them, all of it from the commit and the options.
func (o Options) labelsOf(p *project.Project, r revision) map[string]string {
	const prefix = "org.opencontainers.image."
	known := map[string]string{
		"title":    p.Name,
		"revision": r.Commit,
		"source":   source(p.Module.Path),
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

// source is where the module's sources are, as far as its path tells. A remote of git's would tell more, but it
// differs between clones of the same commit, and may hold a password.
func source(module string) string {
	elements := strings.Split(module, "/")
	if !strings.Contains(elements[0], ".") || len(elements) < 2 {
		return ""
	}
	return "https://" + strings.Join(elements[:min(len(elements), 3)], "/")
}
