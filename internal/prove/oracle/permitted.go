package oracle

import (
	"fmt"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// permitted checks whether the API server rejected a request because of missing permissions.
func permitted(m *moment) []finding.Finding {
	var found []finding.Finding
	seen := map[string]bool{}
	for _, r := range m.run.requests(m.i) {
		what := r.Verb + " " + r.Target()
		if r.Served != 403 || seen[what] {
			continue
		}
		seen[what] = true
		of := (*workload.Ref)(nil)
		if kind := m.run.kindOf(r.Resource); kind != "" {
			of = &workload.Ref{APIVersion: apiVersion(r.Group, r.Version), Kind: kind, Name: m.run.world.Neutral(r.Name)}
		}
		found = append(found, finding.Finding{
			Property: finding.Permitted, Of: of,
			Message: fmt.Sprintf("the operator is not permitted to %s %s", r.Verb, r.Target()),
		})
	}
	return found
}

func apiVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}
