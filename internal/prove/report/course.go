package report

import (
	"slices"

	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// Limits of the parts of a run that a report contains, so that the report stays small.
const (
	keptRequests = 160
	keptChanges  = 200
	keptLog      = 20
)

// CourseOf reduces a trace to the parts that a reader needs: the operator's requests for
// objects, except requests for leases, events and its own permissions, and the changes of objects. If
// there are too many requests, it removes first the reads and then the requests in the middle. It never removes
// requests into which a fault was injected.
func CourseOf(t *runlog.Trace) *Course {
	c := &Course{Started: t.Started, Took: t.Took, Struck: slices.Clone(t.Struck)}
	for _, step := range t.Steps {
		c.Steps = append(c.Steps, Step{Name: step.Name, At: step.At, Took: step.Took, Silent: step.Silent, Why: step.Why})
	}
	for _, r := range t.Requests {
		if tells(&r) {
			r.Body = ""
			c.Requests = append(c.Requests, r)
		}
	}
	for _, change := range t.Changes {
		if !bookkeeping[change.Resource] {
			c.Changes = append(c.Changes, change)
		}
	}
	for _, exit := range t.Exits {
		exit.Log = slices.Clone(exit.Log[max(0, len(exit.Log)-keptLog):])
		c.Exits = append(c.Exits, exit)
	}
	c.trim()
	return c
}

// bookkeeping contains the resources whose objects are not part of an operator's purpose.
var bookkeeping = map[string]bool{
	"leases": true, "events": true, "endpoints": true, "endpointslices": true, "controllerrevisions": true,
	"selfsubjectaccessreviews": true, "selfsubjectrulesreviews": true, "subjectaccessreviews": true, "tokenreviews": true,
}

func tells(r *requestlog.Request) bool {
	if r.Fault != "" {
		return true
	}
	return r.Resource != "" && r.Verb != "watch" && !bookkeeping[r.Resource]
}

// trim removes requests and changes beyond the limits.
func (c *Course) trim() {
	before := len(c.Requests) + len(c.Changes)
	if len(c.Requests) > keptRequests {
		c.Requests = slices.DeleteFunc(c.Requests, func(r requestlog.Request) bool { return !r.IsWrite() && r.Fault == "" })
	}
	c.Requests = ends(c.Requests, keptRequests, func(r requestlog.Request) bool { return r.Fault != "" })
	c.Changes = ends(c.Changes, keptChanges, func(runlog.Change) bool { return false })
	c.Cut += before - len(c.Requests) - len(c.Changes)
}

// ends returns the beginning and the end of a list with more than limit elements, and all elements in
// between that have to stay.
func ends[T any](all []T, limit int, stays func(T) bool) []T {
	if len(all) <= limit {
		return all
	}
	var kept []T
	for i, one := range all {
		if i < limit/2 || i >= len(all)-limit/2 || stays(one) {
			kept = append(kept, one)
		}
	}
	return kept
}
