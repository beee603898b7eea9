package testplan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/prove/fault"
)

// ownWrites proposes to freeze the operator's view of a kind after it has written an object of that kind. An operator may
// repeat the write because it does not see it.
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

// otherChanges proposes faults at changes by clients other than the operator: by the user, and by the controllers
// that run its children.
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

// absences proposes to kill the operator just before it sees a change by another client: each change of a custom resource
// by the user, and the last change of each other kind in a step, with which a child becomes ready or done. If the
// operator acts on the event itself and not on the state, it never does that work.
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
		p.promise -= one.step // an earlier step results in a shorter run
		if class == absent && one.Type == "DELETED" {
			p.promise += len(c.steps) // no object exists any more that shows the operator what to clean up
		}
		all = append(all, p)
	}
	return all
}

// comesAgain reports whether a change is followed by another change of the same kind by a client other than the operator,
// in the same step.
func (c *course) comesAgain(i int) bool {
	return slices.ContainsFunc(c.changes[i+1:], func(later change) bool {
		return later.step == c.changes[i].step && later.Resource == c.changes[i].Resource && !later.byOperator
	})
}

// halfWays proposes to restart the operator and to show it the state in the middle of an earlier step,
// just before it wrote a custom resource itself. It sees work as not done that it has
// long done. Objects that were deleted and created again appear as about to be deleted.
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
				one.promise += 8 // an object that appears as about to be deleted exists again
			}
			if to.step == step-1 {
				one.promise += 4 // the changes since then are the most recent ones
			}
			all = append(all, one)
		}
	}
	return all
}

// on returns a proposal for a fault at a watch event.
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
		promise += 2 // there is an intermediate state
	}
	if !one.certain {
		promise -= 10
	}
	return proposal{
		class: class, faults: []fault.Fault{f}, why: why, promise: promise, certain: one.certain,
		same: strings.Join([]string{string(f.Kind), f.View, one.Resource, one.Type, one.before, fmt.Sprint(one.Deleting, one.byOperator)}, "|"),
	}
}

// said describes a change in words.
func said(one change) string {
	words := map[string]string{"ADDED": "is made", "MODIFIED": "changes", "DELETED": "is gone"}
	return fmt.Sprintf("a %s %s", one.Kind, words[one.Type])
}

// pasts proposes to restart the operator and to show it an earlier state. Its actions then affect
// objects that have changed since.
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
					to.promise += 8 // the restarted operator sees a new object, but not the custom resource to which it belongs
				}
				all = append(all, c.earlier(to, earlier))
			}
		}
	}
	return all
}

// earlier rates a proposal to go back to a step: an operator that trusts its view harms the current objects.
func (c *course) earlier(p proposal, step int) proposal {
	p.promise += 8
	if c.gone(step) {
		p.promise += 2 // an object that the operator sees as deleted exists again
	}
	return p
}

// lastWrite returns the last write of a step that is the first of its kind in the step. The number of further writes of a
// kind may differ between runs.
func (c *course) lastWrite(step int) (last point, any bool) {
	for _, p := range c.writes {
		if p.step == step && p.on.Nth == 1 {
			last, any = p, true
		}
	}
	return last, any
}

// lastUpdate returns the last update in a step, unless the operator repeats it without end.
func (c *course) lastUpdate(step int) (last point, any bool) {
	for _, p := range c.writes {
		if p.step == step && (p.request.Verb == "update" || p.request.Verb == "patch") {
			last, any = p, p.on.Nth <= maxAttempts
		}
	}
	return last, any
}

// lastChange returns the last change in a step by a client other than the operator that the operator sees.
func (c *course) lastChange(step int) (last change, any bool) {
	for _, one := range c.changes {
		if one.step == step && !one.byOperator && one.certain && c.isWatched(one.Resource) && one.Resource != c.asked {
			last, any = one, true
		}
	}
	return last, any
}

// firstOwnWrite returns the operator's first write of a custom resource in a step, other than that of its status.
func (c *course) firstOwnWrite(step int) (point, bool) {
	i := slices.IndexFunc(c.writes, func(p point) bool {
		return p.step == step && p.request.Resource == c.asked && p.request.Subresource == ""
	})
	if i < 0 {
		return point{}, false
	}
	return c.writes[i], true
}

// deletes reports whether the operator deletes objects.
func (c *course) deletes() bool {
	return slices.ContainsFunc(c.writes, func(p point) bool { return strings.HasPrefix(p.request.Verb, "delete") })
}

// ends reports whether a custom resource was deleted in a step.
func (c *course) ends(step int) bool {
	return slices.ContainsFunc(c.changes, func(one change) bool {
		return one.step == step && one.Resource == c.asked && one.Type == "DELETED"
	})
}

// gone reports whether an object was deleted in a step.
func (c *course) gone(step int) bool {
	return slices.ContainsFunc(c.changes, func(one change) bool { return one.step == step && one.Type == "DELETED" })
}

// instances proposes to run two instances of the operator at once, and to take its lease.
func instances(c *course) []proposal {
	var all []proposal
	for _, p := range c.writes {
		if p.nth > 1 {
			continue // only the first two writes of each step
		}
		all = append(all, at(p, twice, fault.Fault{Kind: fault.Overlap, Moment: fault.Before}, "a second instance begins while the first is at work"+then(p)))
		if c.leases != nil {
			all = append(all, at(p, deposed, fault.Fault{Kind: fault.LoseLease, Moment: fault.Before}, "another one has its lease when it writes"+then(p)))
		}
	}
	return all
}

// servers proposes outages of the API server, and the expiry of the operator's token.
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
