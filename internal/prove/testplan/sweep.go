package testplan

import (
	"fmt"
	"slices"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// sweep injects one kind of fault at every possible place, in one run.
type sweep struct {
	name, why string
	faults    func(*course) []fault.Fault
}

// sweeps contains all sweeps. A dozen such runs show what would take hundreds of runs with one fault each. They do not show
// bugs whose effect a later event repairs: single faults follow for those.
var sweeps = []sweep{
	{"conflicts", "the first attempt of every update fails with a conflict", onWrites(fault.Conflict, fault.Before, "update", "patch")},
	{"conflict with the last write", "the last write in every step fails with a conflict, and no other change follows", lastConflicts},
	{"killed after every write", "the operator is killed each time that it has written something", onWrites(fault.Kill, fault.Effect)},
	{"errors", "the first attempt of every write fails with a server error", onWrites(fault.ServerError, fault.Before)},
	{"away when a child changes", "the operator is away each time that another client changes a child for the last time in a step", missing(childless)},
	{"away when a custom resource changes", "the operator is away each time that a custom resource changes", missing(absent)},
	{"two instances", "a second instance starts when the operator is about to write for the first time in each step", onFirstWrites(fault.Overlap)},
	{"old custom resources", "in every step, the operator begins again and sees the custom resources of the step before", oldCustomResources},
	{"half of the step before", "in every step, the operator begins again and sees the custom resources in the middle of the step before", halfBefore},
	{"stale caches", "the operator's view of every kind is stale at the first change in every step", staleViews},
	{"watches end", "each watch ends after the first change that it shows", endingWatches},
	{"timeouts after the effect", "every write takes effect, and the first answer is a timeout", onWrites(fault.TimeOut, fault.Effect)},
	{"killed before every write", "the operator is killed each time that it is about to write something", onWrites(fault.Kill, fault.Before)},
	{"timeouts", "the first attempt of every write times out without effect", onWrites(fault.TimeOut, fault.Before)},
	{"failing reads", "the first attempt of every read before a write fails with a server error", onReads},
	{"expired tokens", "the operator's token expires before the first write in each step", onFirstWrites(fault.Expire)},
	{"slow answers", "every write is seen by the watches before it is answered", onWrites(fault.Delay, fault.Effect)},
}

// maxSweep is the maximum number of faults in a sweep: a restart of the operator takes about half a second.
const maxSweep = 12

// maxAttempts is how often a sweep injects its fault into the same request in a step. A retry of a request is the same request
// again, so that controller-runtime's backoff doubles with each of the faults: after a dozen, it is longer than a step waits.
// Operators that repeat a request without end, such as a status update each second, would be affected by such a sweep.
const maxAttempts = 4

// Sweeps returns plans for a workload, from the traces of its runs without faults. Each plan has one kind of fault at every
// possible place. A sweep with many places is split into several plans.
func Sweeps(refs []runlog.Trace, w workload.Workload) []Plan {
	if len(refs) == 0 {
		return nil
	}
	course := read(refs)
	var plans, more []Plan
	for _, s := range sweeps {
		faults := s.faults(course)
		if len(faults) < 2 {
			continue // another plan already has this single fault
		}
		parts := (len(faults) + maxSweep - 1) / maxSweep
		for part := range parts {
			name := s.name
			if parts > 1 {
				name += fmt.Sprintf(", part %d of %d", part+1, parts)
			}
			plan := Plan{
				Name: fmt.Sprintf("sweep: %s | %s", name, w.Name), Why: s.why, Workload: w,
				Faults: faults[part*len(faults)/parts : (part+1)*len(faults)/parts],
			}
			if part == 0 {
				plans = append(plans, plan)
			} else {
				more = append(more, plan)
			}
		}
	}
	return append(plans, more...)
}

// onWrites returns a function that returns a fault for each write with one of the verbs, or for all writes without verbs.
func onWrites(kind fault.Kind, moment fault.Moment, verbs ...string) func(*course) []fault.Fault {
	return func(c *course) []fault.Fault {
		var all []fault.Fault
		for _, p := range c.writes {
			if p.on.Nth > maxAttempts || len(verbs) > 0 && !slices.Contains(verbs, p.request.Verb) {
				continue
			}
			f := fault.Fault{Kind: kind, Moment: moment, On: p.on}
			if kind == fault.Delay {
				f.For.Duration = delay
			}
			all = append(all, f)
		}
		return all
	}
}

// lastConflicts returns a conflict for the last update in each step, which nothing repairs that happens later in the step.
func lastConflicts(c *course) []fault.Fault {
	var all []fault.Fault
	for step := range c.steps {
		if p, any := c.lastUpdate(step); any {
			all = append(all, fault.Fault{Kind: fault.Conflict, Moment: fault.Before, On: p.on})
		}
	}
	return all
}

// missing returns a function that returns the absences of a class.
func missing(class string) func(*course) []fault.Fault {
	return func(c *course) []fault.Fault {
		var all []fault.Fault
		for _, one := range absences(c) {
			if one.certain && one.class == class {
				all = append(all, one.faults...)
			}
		}
		return all
	}
}

// onFirstWrites returns a function that returns a fault before the first write in each step.
func onFirstWrites(kind fault.Kind) func(*course) []fault.Fault {
	return func(c *course) []fault.Fault {
		var all []fault.Fault
		for _, p := range c.writes {
			if p.nth == 0 && p.on.Nth <= maxAttempts {
				all = append(all, fault.Fault{Kind: kind, Moment: fault.Before, On: p.on})
			}
		}
		return all
	}
}

// onReads returns an error for each read before a write.
func onReads(c *course) []fault.Fault {
	var all []fault.Fault
	for _, p := range c.reads {
		if p.on.Nth > maxAttempts {
			continue
		}
		all = append(all, fault.Fault{Kind: fault.ServerError, Moment: fault.Before, On: p.on})
	}
	return all
}

// staleViews returns faults that freeze the view of each watched kind at its first change in each step.
func staleViews(c *course) []fault.Fault {
	var all []fault.Fault
	seen := map[string]bool{}
	for _, one := range c.changes {
		key := one.Resource + " " + one.on.Step
		if seen[key] || !c.isWatched(one.Resource) {
			continue
		}
		seen[key] = true
		all = append(all, fault.Fault{Kind: fault.Hold, View: one.Resource, On: one.on})
	}
	return all
}

// oldCustomResources returns faults by which the operator begins again, late in each step in which no custom resource is deleted, and sees the
// custom resources of the step before, and everything else as it is. They are for operators that delete objects: what they delete by
// such a view is lost.
func oldCustomResources(c *course) []fault.Fault {
	if !c.deletes() {
		return nil
	}
	var all []fault.Fault
	for step := 1; step < len(c.steps); step++ {
		if one, any := c.lastChange(step); any && !c.ends(step) {
			all = append(all, fault.Fault{Kind: fault.Past, View: c.asked, Step: c.steps[step-1].Name, On: one.on})
		}
	}
	return all
}

// halfBefore returns faults by which the operator begins again with its last write in each step in which no custom resource is deleted,
// and sees the custom resources as they were before it first wrote them in the step before. They are for operators that write custom
// resources themselves: such a write may overwrite what the user has asked for since.
func halfBefore(c *course) []fault.Fault {
	var all []fault.Fault
	for step := 1; step < len(c.steps); step++ {
		p, any := c.lastWrite(step)
		to, before := c.firstOwnWrite(step - 1)
		if any && before && !c.ends(step) {
			all = append(all, fault.Fault{Kind: fault.Past, Moment: fault.Answer, To: to.on, On: p.on})
		}
	}
	return all
}

// endingWatches returns faults that end the first watch of each kind after its first change.
func endingWatches(c *course) []fault.Fault {
	var all []fault.Fault
	for _, one := range watches(c) {
		if f := one.faults[0]; f.Events == 1 {
			all = append(all, f)
		}
	}
	return all
}
