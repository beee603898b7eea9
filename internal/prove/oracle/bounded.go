package oracle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

const (
	// heap is the number of created objects of a kind, minus the deleted ones, that counts as creating objects without end.
	heap = 10
	// manyEvents is the maximum number of events with one reason about one object. Recorders aggregate
	// equal events.
	manyEvents = 20
	// eventsOfStep is how many more of them each step of the user may cause: some frameworks record several for each change that they handle.
	eventsOfStep = 4
)

// bounded checks whether the number of objects or events keeps growing.
func bounded(m *moment) []finding.Finding {
	if f, grows := m.objectsGrow(); grows {
		return []finding.Finding{f}
	}
	if f, grows := m.heaped(); grows {
		return []finding.Finding{f}
	}
	return m.eventsGrow()
}

// objectsGrow finds an operator that creates objects without end.
func (m *moment) objectsGrow() (finding.Finding, bool) {
	if m.step.Silent {
		return finding.Finding{}, false
	}
	requests := slices.DeleteFunc(m.run.requests(m.i), func(r requestlog.Request) bool { return r.Stale })
	r, made := most(requests, func(r *requestlog.Request) bool { return changed(r) && r.Verb == "create" && r.Subresource == "" })
	_, gone := most(requests, func(one *requestlog.Request) bool {
		return changed(one) && one.Verb == "delete" && one.Resource == r.Resource
	})
	if made-gone < heap {
		return finding.Finding{}, false
	}
	f := finding.Finding{Property: finding.Bounded, Of: m.about(&r)}
	f.Message = fmt.Sprintf("the operator keeps creating %s", r.Resource)
	return f, true
}

// heaped finds objects with generated names whose number grows each time that a step leads to the
// same state. Their number may differ between runs, so a comparison of runs does not find them.
func (m *moment) heaped() (finding.Finding, bool) {
	i := m.run.index(m.does.Same)
	if m.does.Same == "" || i < 0 || i >= m.i || !m.settled() || !m.run.Steps[i].Silent || m.normal != nil {
		return finding.Finding{}, false
	}
	then, now := m.run.heaps(i), m.run.heaps(m.i)
	for _, one := range m.state().Objects {
		what := one.String() + " of " + one.Owner
		if was, there := then[what]; !there || now[what] <= was {
			continue
		}
		return finding.Finding{
			Property: finding.Bounded, Of: refTo(one), Message: fmt.Sprintf("the number of %ss grows each time the same state is requested", one.Kind),
			Diff: []finding.Difference{{Of: one.String(), Path: "(number)", Want: strconv.Itoa(then[what]), Got: strconv.Itoa(now[what])}},
		}, true
	}
	return finding.Finding{}, false
}

// heaps returns the number of the operator's objects by generated name and owner.
func (r *run) heaps(i int) map[string]int {
	all := map[string]int{}
	for _, one := range r.state(i).Objects {
		if one.ByOperator && !one.ByUser && one.Generated {
			all[one.String()+" of "+one.Owner]++
		}
	}
	return all
}

// eventsGrow finds events about custom resources that are not aggregated because their texts
// differ.
func (m *moment) eventsGrow() []finding.Finding {
	now := m.run.events(m.i)
	may := map[string]int{}
	if m.normal != nil {
		for _, normal := range m.refs.runs {
			if at := normal.index(m.step.Name); at >= 0 {
				for what, n := range normal.events(at) {
					may[what] = max(may[what], 3*n)
				}
			}
		}
	}
	var all []string
	for what, n := range now {
		if n > manyEvents+may[what]+eventsOfStep*m.i {
			all = append(all, what)
		}
	}
	if len(all) == 0 {
		return nil
	}
	kind, reason, _ := strings.Cut(slices.Min(all), " ")
	return []finding.Finding{{
		Property: finding.Bounded,
		Message:  fmt.Sprintf("the number of %s events about a %s keeps growing, each with a different text", reason, kind),
	}}
}

// events returns, by kind and reason, the largest number of events about one custom resource.
func (r *run) events(i int) map[string]int {
	custom := map[string]bool{}
	for _, change := range r.Changes {
		if group, _, there := strings.Cut(change.APIVersion, "/"); there && strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
			custom[change.Kind] = true
		}
	}
	each := map[string]int{}
	most := map[string]int{}
	for _, event := range r.Steps[i].Events {
		kind, _, _ := strings.Cut(event.Of, "/")
		if !custom[kind] {
			continue
		}
		each[event.Of+" "+event.Reason]++
		what := kind + " " + event.Reason
		most[what] = max(most[what], each[event.Of+" "+event.Reason])
	}
	return most
}
