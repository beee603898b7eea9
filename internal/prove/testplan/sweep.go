package testplan

import (
	"fmt"
	"slices"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// sweep is one kind of fault at every place where it can strike, in one run.
type sweep struct {
	name, why string
	faults    func(*course) []fault.Fault
}

// sweeps say in a dozen runs what takes hundreds with a fault each. What a later event heals they hide: for that, single
// faults follow.
var sweeps = []sweep{
	{"conflicts", "the first attempt of every update fails with a conflict", onWrites(fault.Conflict, fault.Before, "update", "patch")},
	{"killed after every write", "the operator is killed each time that it has written something", onWrites(fault.Kill, fault.Effect)},
	{"errors", "the first attempt of every write fails with a server error", onWrites(fault.ServerError, fault.Before)},
	{"stale caches", "the operator's view of every kind is stale at the first change in every step", staleViews},
	{"timeouts after the effect", "every write takes effect, and the first answer is a timeout", onWrites(fault.TimeOut, fault.Effect)},
	{"killed before every write", "the operator is killed each time that it is about to write something", onWrites(fault.Kill, fault.Before)},
	{"timeouts", "the first attempt of every write times out without effect", onWrites(fault.TimeOut, fault.Before)},
	{"failing reads", "the first attempt of every read before a write fails with a server error", onReads},
	{"slow answers", "every write is seen by the watches before it is answered", onWrites(fault.Delay, fault.Effect)},
}

// maxSweep is how many faults are in a sweep at most: a restart of the operator takes about half a second.
const maxSweep = 12

// Sweeps returns plans for a workload that each have one kind of fault at every place where it can strike, from the traces
// of runs without faults. A sweep with many places is several plans.
func Sweeps(refs []runlog.Trace, w workload.Workload) []Plan {
	if len(refs) == 0 {
		return nil
	}
	course := read(refs)
	var plans, more []Plan
	for _, s := range sweeps {
		faults := s.faults(course)
		if len(faults) < 2 {
			continue // a single fault is a plan already
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

// onWrites is a fault at each write of some verbs; none: all.
func onWrites(kind fault.Kind, moment fault.Moment, verbs ...string) func(*course) []fault.Fault {
	return func(c *course) []fault.Fault {
		var all []fault.Fault
		for _, p := range c.writes {
			if len(verbs) > 0 && !slices.Contains(verbs, p.request.Verb) {
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

// onReads is an error at each read that comes before a write.
func onReads(c *course) []fault.Fault {
	var all []fault.Fault
	for _, p := range c.reads {
		all = append(all, fault.Fault{Kind: fault.ServerError, Moment: fault.Before, On: p.on})
	}
	return all
}

// staleViews holds the view of each watched kind back at its first change in each step.
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
