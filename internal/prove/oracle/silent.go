package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// silent checks whether the operator finished its work.
func silent(m *moment) []finding.Finding {
	if m.step.Silent || m.normal != nil && !m.wants() {
		return nil
	}
	f := finding.Finding{Property: finding.Silent, Message: "the operator does not become quiescent"}
	if why, err := json.Marshal(m.step.Why); err == nil && m.step.Why != "" {
		f.Diff = []finding.Difference{{Of: "the operator", Path: "(activity)", Want: `"none"`, Got: string(why)}}
	}
	requests := m.lately()
	if len(requests) == 0 && m.sawPast() {
		return nil // it never saw the current state
	}
	if r, times := most(requests, changed); times >= again {
		f.Message = fmt.Sprintf("the operator does not become quiescent: it keeps writing %s", r.Target())
		f.Of = m.about(&r)
		return []finding.Finding{f}
	}
	if r, times := most(requests, func(r *requestlog.Request) bool { return r.IsWrite() && !r.IsBeside() }); times >= again {
		f.Message = fmt.Sprintf("the operator does not become quiescent: it keeps sending %s %s without changing anything", r.Verb, r.Target())
		f.Of = m.about(&r)
		return []finding.Finding{f}
	}
	if m.polls() {
		return nil // an operator that has to poll may read from time to time
	}
	if r, times := most(requests, func(r *requestlog.Request) bool { return !r.IsBeside() && r.Verb != "watch" }); times >= manyReads {
		f.Message = fmt.Sprintf("the operator does not become quiescent: it keeps sending %s %s without changing anything", r.Verb, r.Target())
		f.Of = m.about(&r)
	}
	return []finding.Finding{f}
}

// sawPast reports whether a fault showed the operator an earlier state in the step.
func (m *moment) sawPast() bool {
	return slices.ContainsFunc(m.run.requests(m.i), func(r requestlog.Request) bool { return r.Stale })
}

// lately returns the requests of the later part of a step, in which the work could be finished. Requests that follow from an
// earlier state are omitted: other clients correct an operator that acts on it until it sees the current state.
func (m *moment) lately() []requestlog.Request {
	since := m.step.At.Add(m.step.Took / 3)
	var all []requestlog.Request
	for _, r := range m.run.requests(m.i) {
		if !r.At.Before(since) && !r.Stale {
			all = append(all, r)
		}
	}
	return all
}

// polls reports whether, in a step that did not become silent, the operator only reads, and not
// too often: it watches nothing and has to poll.
func (m *moment) polls() bool {
	reads := 0
	for _, r := range m.lately() {
		switch {
		case r.IsBeside() || r.Verb == "watch":
		case r.IsWrite():
			return false
		default:
			reads++
		}
	}
	lasted := (m.step.Took - m.step.Took/3).Seconds()
	return reads > 1 && float64(reads) <= looksPerSecond*max(lasted, 1)
}

const (
	// again is the number of equal writes in a step that is too many.
	again = 6
	// manyReads is the number of equal requests from which on a finding names them.
	manyReads = 20
)

// most returns the most frequent of the selected requests, and its count. Of requests that are about as frequent, because they are sent
// together, it returns the same one in each run.
func most(requests []requestlog.Request, of func(*requestlog.Request) bool) (requestlog.Request, int) {
	times, top := map[string]int{}, 0
	for i := range requests {
		if r := &requests[i]; of(r) {
			times[words(r)]++
			top = max(top, times[words(r)])
		}
	}
	var best requestlog.Request
	for i := range requests {
		r := &requests[i]
		if of(r) && times[words(r)]*10 >= top*9 && (best.Verb == "" || words(r) < words(&best)) {
			best = *r
		}
	}
	return best, times[words(&best)]
}

// words returns the verb and the resource of a request.
func words(r *requestlog.Request) string { return r.Verb + " " + r.Target() }

// about returns a reference to the object of a request, or nil if its kind is not known.
func (m *moment) about(r *requestlog.Request) *workload.Ref {
	kind := m.run.kindOf(r.Resource)
	if kind == "" {
		return nil
	}
	return &workload.Ref{APIVersion: apiVersion(r.Group, r.Version), Kind: kind, Name: m.run.world.Neutral(r.Name)}
}

const (
	// looksPerSecond is the maximum number of reads per second of an operator that has to poll.
	// perSecond is the maximum in the last second of a step, in which many reads may coincide.
	looksPerSecond, perSecond = 4, 8
	// storm is the maximum number of requests in a step beyond factor times the number without faults.
	// An operator that cannot continue has to wait, with increasing delays.
	storm, factor = 300, 10
)

// restless checks how many requests the operator sent in a step that became silent.
func restless(m *moment) []finding.Finding {
	if !m.step.Silent {
		return nil
	}
	all := m.asked()
	may := storm
	for _, normal := range m.refs.runs {
		if at := normal.index(m.step.Name); at >= 0 && m.normal != nil {
			other := moment{refs: m.refs, run: normal, i: at, step: normal.Steps[at]}
			may = max(may, storm+factor*len(other.asked()))
		}
	}
	message := ""
	r, _ := most(all, func(*requestlog.Request) bool { return true })
	switch {
	case m.goesOn(all):
		r, _ = most(all, func(r *requestlog.Request) bool { return m.ago(r) < time.Second })
		message = fmt.Sprintf("after it is done, the operator still requests %s many times per second", r.Target())
	case len(all) > may && (m.normal != nil || m.step.Took < time.Minute):
		message = fmt.Sprintf("the operator sends %s %s hundreds of times before it becomes quiescent", r.Verb, r.Target())
	default:
		return nil
	}
	return []finding.Finding{{Property: finding.Silent, Of: m.about(&r), Message: message}}
}

// asked returns the requests of a step that show what the operator does. Watches and requests that follow from
// an earlier state are omitted.
func (m *moment) asked() []requestlog.Request {
	var all []requestlog.Request
	for _, r := range m.run.requests(m.i) {
		if !r.IsBeside() && r.Verb != "watch" && !r.Stale && m.ago(&r) >= 0 {
			all = append(all, r)
		}
	}
	return all
}

// ago returns how long before the step's end a request was received.
func (m *moment) ago(r *requestlog.Request) time.Duration { return m.end().Sub(r.At) }

// goesOn reports whether an operator that reads all the time reads too often when its work is done: more
// than allowed in the last second, and often in both halves of it, because an operator that was just started reads
// much at once and then stops. With all other operators, a step only ends when they send no requests.
func (m *moment) goesOn(asked []requestlog.Request) bool {
	if !m.refs.Rhythm().Reads() || m.step.Took <= time.Second {
		return false
	}
	early, late := 0, 0
	for i := range asked {
		switch ago := m.ago(&asked[i]); {
		case ago < time.Second/2:
			late++
		case ago < time.Second:
			early++
		}
	}
	return early+late > perSecond && min(early, late) >= perSecond/2
}
