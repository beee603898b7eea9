package oracle

import (
	"fmt"
	"net/http"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// permitted checks whether the API server rejected a request because of missing permissions.
func permitted(m *moment) []finding.Finding {
	var found []finding.Finding
	seen := map[string]bool{}
	for _, r := range m.run.requests(m.i) {
		what := r.Verb + " " + r.Target()
		if r.Served != http.StatusForbidden || seen[what] {
			continue
		}
		seen[what] = true
		of := (*workload.Ref)(nil)
		if kind := m.run.kindOf(r.Resource); kind != "" {
			of = &workload.Ref{APIVersion: apiVersion(r.Group, r.Version), Kind: kind, Name: m.run.world.Neutral(r.Name)}
		}
		found = append(found, finding.Finding{
			Property: finding.Permitted, Level: m.levelOf(&r), Of: of,
			Message: fmt.Sprintf("the operator is not permitted to %s %s", r.Verb, r.Target()),
		})
	}
	return found
}

// levelOf returns the level of a rejected request. An operator that tries once at its start whether it may read something, and then works without
// it, is not missing a permission.
func (m *moment) levelOf(r *requestlog.Request) finding.Level {
	times := 0
	for i := range m.run.Requests {
		if one := &m.run.Requests[i]; one.Served == http.StatusForbidden && one.Verb == r.Verb && one.Target() == r.Target() {
			times++
		}
	}
	if m.i == 0 && len(m.faults) == 0 && m.step.Silent && !r.IsWrite() && times == 1 {
		return finding.Note
	}
	return ""
}

func apiVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}
