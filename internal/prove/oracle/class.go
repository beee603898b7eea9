package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// ofFault is the class of the bug that a fault reveals if the state is wrong afterwards.
var ofFault = map[fault.Kind]finding.Class{
	fault.Kill: finding.Intermediate, fault.Cut: finding.LostUpdate, fault.Delay: finding.Stale, fault.CutWatch: finding.Unobserved,
	fault.Conflict: finding.LostUpdate, fault.AlreadyExists: finding.LostUpdate, fault.NotFound: finding.LostUpdate,
	fault.Throttle: finding.LostUpdate, fault.ServerError: finding.LostUpdate, fault.Unavailable: finding.LostUpdate,
	fault.TimeOut: finding.LostUpdate,
	"hold":        finding.Stale, "past": finding.Stale,
	"skip": finding.Unobserved, "relist": finding.Unobserved, "outage": finding.Intermediate, "expire": finding.LostUpdate,
	"overlap": finding.Overlap, "lose-lease": finding.Overlap,
}

// ofProperty is the class of the bug for a property, regardless of the fault.
var ofProperty = map[finding.Property]finding.Class{
	finding.Alive: finding.Crash, finding.Silent: finding.HotLoop, finding.Truthful: finding.Lie, finding.Permitted: finding.Privilege,
	finding.Needed: finding.Privilege, finding.Bounded: finding.Leak, finding.Refusing: finding.Misoperation,
}

// alone is the class of the bug for a property if no fault was injected.
var alone = map[finding.Property]finding.Class{
	finding.NothingLeft: finding.Leak, finding.Deletable: finding.Leak, finding.NothingForeign: finding.Leak,
}

// class guesses the class of the bug.
func class(f finding.Finding, faults []fault.Fault) finding.Class {
	if c, certain := ofProperty[f.Property]; certain {
		return c
	}
	for _, one := range faults {
		c := ofFault[one.Kind]
		if c == finding.LostUpdate && len(f.Diff) > 0 && !slices.ContainsFunc(f.Diff, isOld) {
			return finding.Leak // a retried request was executed twice
		}
		if c != "" {
			return c
		}
	}
	return cmp.Or(alone[f.Property], finding.Misoperation)
}

// isOld reports whether a difference is anything other than an extra object.
func isOld(d finding.Difference) bool { return d.Path != "" || d.Want != "" }

// telling is the maximum number of requests that a finding shows.
const telling = 8

// tellingRequests returns the few most relevant requests up to the end of a step: the request into which the fault was
// injected, with the writes around it, and the last writes to the object of the finding.
func tellingRequests(m *moment, f finding.Finding) []requestlog.Request {
	var all []requestlog.Request
	for i := range m.run.Requests[:m.upTo()] {
		if r := &m.run.Requests[i]; r.Fault != "" || r.IsWrite() && !r.IsBeside() || r.Served == 403 {
			all = append(all, *r)
		}
	}
	chosen := map[int]bool{}
	choose := func(of func(*requestlog.Request) bool, before, after int) {
		for i := range slices.Backward(all) {
			if !of(&all[i]) {
				continue
			}
			for j := max(0, i-before); j <= min(len(all)-1, i+after) && len(chosen) < telling; j++ {
				chosen[j] = true
			}
			return
		}
	}
	choose(func(r *requestlog.Request) bool { return r.Fault != "" }, 1, 2)
	if f.Property == finding.Permitted {
		choose(func(r *requestlog.Request) bool { return r.Served == 403 && strings.Contains(f.Message, r.Target()) }, 0, 0)
	}
	if f.Of != nil {
		plural := m.run.resourceOf(f.Of.Kind)
		choose(func(r *requestlog.Request) bool { return r.Resource == plural && changed(r) }, 1, 0)
	}
	choose(changed, 1, 0)
	var last []requestlog.Request
	for i, r := range all {
		if chosen[i] {
			last = append(last, r)
		}
	}
	return last
}

// upTo returns the number of requests of the run before the end of the step.
func (m *moment) upTo() int {
	n, _ := slices.BinarySearchFunc(m.run.Requests, m.step.Last+1, func(r requestlog.Request, seq int64) int { return cmp.Compare(r.Seq, seq) })
	return n
}
