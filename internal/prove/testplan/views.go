package testplan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/prove/fault"
)

// ownWrites freeze what the operator sees of a kind when it has just written an object of it: does it
// do the same once more, as it does not see it?
func ownWrites(c *course) []proposal {
	var all []proposal
	for _, p := range c.writes {
		if !c.isWatched(p.request.Resource) {
			continue
		}
		one := at(p, stale, fault.Fault{Kind: fault.Hold, Moment: fault.Effect, View: p.request.Resource}, "it does not see for a while what it wrote"+then(p))
		if p.request.Verb == "create" {
			one.promise += 2
		}
		all = append(all, one)
	}
	return all
}

// otherChanges are about changes by others than the operator: of the user, and of the controllers
// that bring its children to life.
func otherChanges(c *course) []proposal {
	var all []proposal
	for _, one := range c.changes {
		if !c.isWatched(one.Resource) {
			continue
		}
		if !one.byOperator {
			all = append(all,
				on(one, stale, fault.Fault{Kind: fault.Hold, View: one.Resource}, "it learns late that "+said(one)),
				on(one, stale, fault.Fault{Kind: fault.Hold}, "it sees nothing new for a while when "+said(one)),
			)
		}
		all = append(all,
			on(one, skipped, fault.Fault{Kind: fault.Skip, View: one.Resource}, "it never sees the states in between after "+said(one)),
			on(one, broken, fault.Fault{Kind: fault.Relist, View: one.Resource}, "its watch ends when "+said(one)+", and it has to list again"),
		)
	}
	return all
}

// absences end the operator just before it sees a change by others: each one of a custom resource by the
// user, and the last one in a step of each other kind, in which a child is ready, or done. What it does
// at the event itself, and not by what is there, it never does.
func absences(c *course) []proposal {
	var all []proposal
	for i, one := range c.changes {
		if one.byOperator || !c.isWatched(one.Resource) || one.Resource != c.asked && c.comesAgain(i) {
			continue
		}
		class := childless
		if one.Resource == c.asked {
			class = absent
		}
		p := on(one, class, fault.Fault{Kind: fault.Kill}, "it is away when "+said(one)+", and finds it so when it begins again")
		p.same += "|" + one.on.Step
		p.promise -= one.step // the sooner, the shorter the run
		if class == absent && one.Type == "DELETED" {
			p.promise += len(c.steps) // nothing is there any more that could tell it what to clean up
		}
		all = append(all, p)
	}
	return all
}

// comesAgain reports whether a change is followed by others of the same kind by others than the operator,
// in the same step.
func (c *course) comesAgain(i int) bool {
	return slices.ContainsFunc(c.changes[i+1:], func(later change) bool {
		return later.step == c.changes[i].step && later.Resource == c.changes[i].Resource && !later.byOperator
	})
}

// halfWays let the operator begin again and see the custom resources, among all else as it is, as they
// were in the midst of an earlier step, just before it wrote one of them itself: it sees what it has
// long done as still to be done. What was deleted and made again it sees about to go.
func halfWays(c *course) []proposal {
	var all []proposal
	for step := range c.steps {
		p, any := c.lastWrite(step)
		if !any {
			continue
		}
		for _, to := range c.writes {
			if to.step >= step || to.request.Resource != c.asked || to.request.Subresource != "" {
				continue
			}
			one := at(p, halfWay, fault.Fault{Kind: fault.Past, Moment: fault.Answer, To: to.on}, fmt.Sprintf("it begins again, and sees the %s as they were before it was to %s in %q", c.asked, words(&to.request), to.on.Step))
			one.same += "|" + to.on.String()
			if c.gone(to.step) {
				one.promise += 8 // what it sees is about to go is there again
			}
			if to.step == step-1 {
				one.promise += 4 // what was changed since is the last that was done
			}
			all = append(all, one)
		}
	}
	return all
}

// on is a proposal for an event.
func on(one change, class string, f fault.Fault, why string) proposal {
	f.On = one.on
	promise := 10
	if !one.byOperator {
		promise += 4
	}
	switch {
	case one.Type == "DELETED", one.Deleting:
		promise += 3
	case one.Type == "MODIFIED" && one.before != "":
		promise += 2 // there is a state in between
	}
	if !one.certain {
		promise -= 10
	}
	return proposal{
		class: class, faults: []fault.Fault{f}, why: why, promise: promise, certain: one.certain,
		same: strings.Join([]string{string(f.Kind), f.View, one.Resource, one.Type, one.before, fmt.Sprint(one.Deleting, one.byOperator)}, "|"),
	}
}

// said is a change in words.
func said(one change) string {
	words := map[string]string{"ADDED": "is made", "MODIFIED": "changes", "DELETED": "is gone"}
	return fmt.Sprintf("a %s %s", one.Kind, words[one.Type])
}

// pasts let the operator begin again and see how things were: what it does then is about objects that
// are others by now.
func pasts(c *course) []proposal {
	var all []proposal
	for _, p := range c.writes {
		back := at(p, travelled, fault.Fault{Kind: fault.Past, Moment: fault.Answer, Back: 1}, "it begins again, and does not see yet what it wrote last")
		back.promise -= 2
		all = append(all, back)
	}
	for step := range c.steps {
		for earlier := range step {
			f := fault.Fault{Kind: fault.Past, Step: c.steps[earlier].Name}
			why := fmt.Sprintf("it begins again, and sees how all was after %q", f.Step)
			if p, any := c.lastWrite(step); any {
				f.Moment = fault.Answer
				all = append(all, c.earlier(at(p, travelled, f, why), earlier))
			}
			f.Moment = ""
			if one, any := c.lastChange(step); any && c.asked != "" {
				f.View = c.asked
				to := on(one, partly, f, fmt.Sprintf("it begins again, and sees the %s of %q among all else as it is", f.View, f.Step))
				to.same += "|" + f.Step
				if one.Type == "ADDED" {
					to.promise += 8 // it is new to who looks back, and belongs to what he does not see
				}
				all = append(all, c.earlier(to, earlier))
			}
		}
	}
	return all
}

// earlier is a proposal to go back to a step: who trusts what he sees harms what is there by now.
func (c *course) earlier(p proposal, step int) proposal {
	p.promise += 8
	if c.gone(step) {
		p.promise += 2 // what it sees is deleted is there again
	}
	return p
}

// lastWrite is the last write of a step that is the first of its kind in it: how many follow may
// differ from run to run.
func (c *course) lastWrite(step int) (last point, any bool) {
	for _, p := range c.writes {
		if p.step == step && p.on.Nth == 1 {
			last, any = p, true
		}
	}
	return last, any
}

// lastChange is the last change by others in a step that the operator sees.
func (c *course) lastChange(step int) (last change, any bool) {
	for _, one := range c.changes {
		if one.step == step && !one.byOperator && one.certain && c.isWatched(one.Resource) && one.Resource != c.asked {
			last, any = one, true
		}
	}
	return last, any
}

// gone reports whether something was deleted in a step.
func (c *course) gone(step int) bool {
	return slices.ContainsFunc(c.changes, func(one change) bool { return one.step == step && one.Type == "DELETED" })
}

// instances are about two of the operator at once, and about its lease.
func instances(c *course) []proposal {
	var all []proposal
	for _, p := range c.writes {
		if p.nth > 1 {
			continue // of each step the first two writes
		}
		all = append(all, at(p, twice, fault.Fault{Kind: fault.Overlap, Moment: fault.Before}, "a second instance begins while the first is at work"+then(p)))
		if c.leases != nil {
			all = append(all, at(p, deposed, fault.Fault{Kind: fault.LoseLease, Moment: fault.Before}, "another one has its lease when it writes"+then(p)))
		}
	}
	return all
}

// servers are about the result of the API server, and of the right to speak to it.
func servers(c *course) []proposal {
	var all []proposal
	for _, p := range c.writes {
		if p.nth > 1 {
			continue
		}
		all = append(all,
			at(p, away, fault.Fault{Kind: fault.Outage, Moment: fault.Effect}, "the API server is away when it wrote"+then(p)),
			at(p, expired, fault.Fault{Kind: fault.Expire, Moment: fault.Before}, "its token is worth nothing when it is about to write"+then(p)),
		)
	}
	return all
}
