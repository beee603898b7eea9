package report

import (
	"slices"

	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// How much of a run is kept, so that a report can be read and sent.
const (
	keptRequests = 160
	keptChanges  = 200
	keptLog      = 20
)

// CourseOf cuts a trace to what a reader needs to see what happened: the operator's requests for
// objects, without those for leases, events and its own rights, and what happened to objects. Where
// there are too many requests, reads go first, and then those in the middle; the ones that a fault
// struck stay.
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

// bookkeeping are resources whose objects tell nothing of what an operator is for.
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

// trim leaves out what is too much.
func (c *Course) trim() {
	before := len(c.Requests) + len(c.Changes)
	if len(c.Requests) > keptRequests {
		c.Requests = slices.DeleteFunc(c.Requests, func(r requestlog.Request) bool { return !r.IsWrite() && r.Fault == "" })
	}
	c.Requests = ends(c.Requests, keptRequests, func(r requestlog.Request) bool { return r.Fault != "" })
	c.Changes = ends(c.Changes, keptChanges, func(runlog.Change) bool { return false })
	c.Cut += before - len(c.Requests) - len(c.Changes)
}

// ends keeps the beginning and the end of a list that has more than limit elements, and those in
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
