package oracle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/operon-framework/operon/prove/finding"
	"github.com/operon-framework/operon/prove/record"
	"github.com/operon-framework/operon/prove/workload"
)

// silent judges whether the operator came to an end with its work.
func silent(m *moment) []finding.Finding {
	if m.step.Silent || m.normal != nil && !m.wants() {
		return nil
	}
	f := finding.Finding{Property: finding.Silent, Message: "the operator does not come to an end"}
	if why, err := json.Marshal(m.step.Why); err == nil && m.step.Why != "" {
		f.Diff = []finding.Difference{{Of: "the operator", Path: "(activity)", Want: `"none"`, Got: string(why)}}
	}
	requests := m.lately()
	if r, times := most(requests, changed); times >= again {
		f.Message = fmt.Sprintf("the operator does not come to an end: it writes %s again and again", resource(&r))
		f.Of = m.about(&r)
		return []finding.Finding{f}
	}
	if r, times := most(requests, func(r *record.Request) bool { return r.IsWrite() && !isBeside(r) }); times >= again {
		f.Message = fmt.Sprintf("the operator does not come to an end: it goes on to %s %s, and changes nothing", r.Verb, resource(&r))
		f.Of = m.about(&r)
		return []finding.Finding{f}
	}
	if m.polls() {
		return nil // who has to look by himself may look now and then
	}
	if r, times := most(requests, func(r *record.Request) bool { return !isBeside(r) && r.Verb != "watch" }); times >= manyReads {
		f.Message = fmt.Sprintf("the operator does not come to an end: it goes on to %s %s, and changes nothing", r.Verb, resource(&r))
		f.Of = m.about(&r)
	}
	return []finding.Finding{f}
}

// lately are the requests of the later part of a step: what went on when the work might have been
// done.
func (m *moment) lately() []record.Request {
	since := m.step.At.Add(m.step.Took / 3)
	var all []record.Request
	for _, r := range m.run.requests(m.i) {
		if !r.At.Before(since) {
			all = append(all, r)
		}
	}
	return all
}

// polls tells whether in a step that did not end the operator does nothing but read, and that not
// too often: it watches nothing, and has to look by itself.
func (m *moment) polls() bool {
	reads := 0
	for _, r := range m.lately() {
		switch {
		case isBeside(&r) || r.Verb == "watch":
		case r.IsWrite():
			return false
		default:
			reads++
		}
	}
	lasted := (m.step.Took - m.step.Took/3).Seconds()
	return reads > 1 && float64(reads) <= perSecond*max(lasted, 1)
}

const (
	// again is how many equal writes that each change something are too many in a step.
	again = 6
	// manyReads is how many equal requests are worth to be named.
	manyReads = 20
)

// most returns the request that there are most of, of those that are asked for, and how many.
func most(requests []record.Request, of func(*record.Request) bool) (record.Request, int) {
	times := map[string]int{}
	var best record.Request
	for i := range requests {
		r := &requests[i]
		if !of(r) {
			continue
		}
		times[r.Verb+" "+resource(r)]++
	}
	for i := range requests {
		r := &requests[i]
		if of(r) && (best.Verb == "" || times[r.Verb+" "+resource(r)] > times[best.Verb+" "+resource(&best)]) {
			best = *r
		}
	}
	return best, times[best.Verb+" "+resource(&best)]
}

// about is the object of a request, nil where its kind is not known.
func (m *moment) about(r *record.Request) *workload.Ref {
	kind := m.run.kindOf(r.Resource)
	if kind == "" {
		return nil
	}
	return &workload.Ref{APIVersion: apiVersion(r.Group, r.Version), Kind: kind, Name: m.run.world.Neutral(r.Name)}
}

// Limits on what an operator may do after all is done. Nobody is perfectly still: caches are read
// again, and a last event may lead to a last look.
const (
	fewReads  = 20
	fewWrites = 6
	factor    = 3
	// perSecond is what an operator may ask in a second where nothing is known to compare with.
	perSecond = 20
)

// restless judges what the operator did when the state was reached and the faults were over.
func restless(m *moment) []finding.Finding {
	if !m.step.Silent {
		return nil
	}
	all, writes, window := m.afterwards()
	mayAll, mayWrite := float64(fewReads)+perSecond*window.Seconds(), float64(fewWrites)+window.Seconds()
	if m.wants() {
		mayAll, mayWrite = fewReads, fewWrites
		for _, normal := range m.refs.runs {
			at := normal.index(m.step.Name)
			if at < 0 {
				continue
			}
			other := moment{refs: m.refs, run: normal, i: at, step: normal.Steps[at]}
			wasAll, wasWrites, long := other.afterwards()
			scale := factor * window.Seconds() / max(long.Seconds(), 0.05)
			mayAll = max(mayAll, fewReads+scale*float64(len(wasAll)))
			mayWrite = max(mayWrite, fewWrites+scale*float64(len(wasWrites)))
		}
	}
	requests, does := all, "ask for"
	switch {
	case float64(len(writes)) > mayWrite:
		requests, does = writes, "write"
	case float64(len(all)) > mayAll:
	default:
		return nil
	}
	r, _ := most(requests, func(*record.Request) bool { return true })
	return []finding.Finding{{
		Property: finding.Silent, Of: m.about(&r),
		Message: fmt.Sprintf("when all is done, the operator goes on to %s %s, which changes nothing", does, resource(&r)),
	}}
}

// afterwards are the requests, and the writes among them, from the last change and the last fault to
// the end of the step, and how long that was.
func (m *moment) afterwards() (all, writes []record.Request, window time.Duration) {
	since := m.step.At
	for _, change := range m.run.changes(m.i) {
		since = later(since, change.At)
	}
	requests := m.run.requests(m.i)
	for _, r := range requests {
		if r.Fault != "" {
			since = later(since, r.At)
		}
	}
	for _, exit := range m.run.Exits {
		if exit.Step == m.step.Name {
			since = later(since, exit.At.Add(settling)) // it reads everything when it begins
		}
	}
	for _, r := range requests {
		if isBeside(&r) || r.Verb == "watch" || !r.At.After(since) || r.At.After(m.end()) {
			continue
		}
		if all = append(all, r); r.IsWrite() {
			writes = append(writes, r)
		}
	}
	return all, writes, max(0, m.end().Sub(since))
}

// settling is how long an operator that was started again may look around.
const settling = 2 * time.Second

func later(a, b time.Time) time.Time {
	if cmp.Compare(a.UnixNano(), b.UnixNano()) < 0 {
		return b
	}
	return a
}
