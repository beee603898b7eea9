package testplan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/prove/fault"
)

// proposal is a plan that is being built.
type proposal struct {
	class   string
	faults  []fault.Fault
	why     string
	same    string // equal for equivalent proposals
	promise int
	lot     uint64 // order of proposals of equal promise
	certain bool
}

// Classes of plans, in the order in which they are interleaved.
const (
	killed      = "killed after the effect"
	removing    = "killed after it deleted"
	stale       = "acts on an old view"
	travelled   = "begins again in the past"
	partly      = "sees one kind as it was"
	conflicting = "conflict"
	skipped     = "misses a state"
	lost        = "applied, but answered otherwise"
	killedEarly = "killed before the effect"
	twice       = "two instances"
	deposed     = "loses its lease"
	refused     = "error"
	broken      = "watch breaks"
	away        = "API server away"
	killedLate  = "killed after the answer"
	expired     = "token expires"
	readFails   = "read fails"
	slow        = "slow"
	absent      = "away when a custom resource changes"
	childless   = "away when a child changes"
	halfWay     = "sees as undone what it did"
	contested   = "conflicts in a row"
)

var classes = []string{
	killed, stale, removing, travelled, absent, halfWay, partly, conflicting, childless, contested, skipped, lost, killedEarly, twice, deposed, refused, broken, away, killedLate, expired, readFails, slow,
}

// proposers contains a function for each kind of plan.
var proposers = []func(*course) []proposal{
	kills, answers, reads, watches, delays, ownWrites, otherChanges, absences, pasts, halfWays, instances, servers,
}

// at returns a proposal for a fault at a write.
func at(p point, class string, f fault.Fault, why string) proposal {
	f.On = p.on
	promise := 10 + promising(p)
	if !p.certain {
		promise -= 10
	}
	return proposal{
		class: class, faults: []fault.Fault{f}, why: why, promise: promise, certain: p.certain,
		same: strings.Join([]string{string(f.Kind), string(f.Moment), f.View, strconv.Itoa(f.Back), f.Step, words(&p.request), p.before, p.after}, "|"),
	}
}

// promising rates how much an operator has to remember or to find out again at a write.
func promising(p point) int {
	promise := 0
	if p.after != "" {
		promise += 4 // it has started work that it has to finish
	}
	if p.before != "" {
		promise++
	}
	if p.generated {
		promise += 3 // it cannot find the created object by name
	}
	switch {
	case p.request.Verb == "delete" || p.request.Verb == "deletecollection":
		promise += 3
	case p.request.Verb == "create":
		promise += 2
	case p.request.Subresource == "status":
		promise--
	}
	return promise
}

// kills proposes to kill the operator before and after each write.
func kills(c *course) []proposal {
	var all []proposal
	for _, p := range c.writes {
		effective := killed
		if p.request.Verb == "delete" {
			effective = removing
		}
		all = append(all,
			at(p, effective, fault.Fault{Kind: fault.Kill, Moment: fault.Effect}, "it wrote, and does not know"+then(p)),
			at(p, killedEarly, fault.Fault{Kind: fault.Kill, Moment: fault.Before}, "it has not written what it was about to"+then(p)),
			at(p, killedLate, fault.Fault{Kind: fault.Kill, Moment: fault.Answer}, "it wrote, and has to find that out when it begins again"+then(p)),
		)
	}
	return all
}

// then describes the work that remains after a write.
func then(p point) string {
	if p.after == "" {
		return ""
	}
	return ", and has still to " + p.after
}

// answers proposes responses to writes that replace the API server's own. It proposes only responses that the API server
// may send: for example, a client that repeats a request whose response was lost receives an error that its own first
// request caused.
func answers(c *course) []proposal {
	var all []proposal
	for _, p := range c.writes {
		add := func(class string, kind fault.Kind, moment fault.Moment, why string) {
			all = append(all, at(p, class, fault.Fault{Kind: kind, Moment: moment}, why))
		}
		switch p.request.Verb {
		case "create":
			if !p.generated {
				add(conflicting, fault.AlreadyExists, fault.Effect, "it created the object, and the answer is that another client did")
			}
		case "update", "patch":
			add(conflicting, fault.Conflict, fault.Before, "another client was faster"+then(p))
			if p.on.Nth == 1 {
				all = append(all, contest(p))
			}
		case "delete":
			add(conflicting, fault.NotFound, fault.Effect, "it deleted the object, and the answer is that it does not exist")
		}
		add(lost, fault.TimeOut, fault.Effect, "it wrote, and the answer is a timeout")
		add(lost, fault.Cut, fault.Effect, "it wrote, and gets no answer")
		add(refused, fault.ServerError, fault.Before, "the write fails"+then(p))
		add(refused, fault.Throttle, fault.Before, "it is asked to wait"+then(p))
		add(refused, fault.Unavailable, fault.Before, "the API server is away for a moment"+then(p))
		add(refused, fault.TimeOut, fault.Before, "the write takes too long, and no effect"+then(p))
	}
	return all
}

// inARow is the number of successive conflicts that an operator has to survive.
const inARow = 8

// contest proposes several conflicts in a row. An operator that gives up a write and relies on the
// next event to repair it does not receive another event then.
func contest(p point) proposal {
	one := at(p, contested, fault.Fault{Kind: fault.Conflict, Moment: fault.Before}, fmt.Sprintf("another client is faster, %d times in a row", inARow))
	one.faults[0].On.Times = inARow
	one.same += "|in a row"
	if p.request.Subresource == "status" {
		one.promise += 5 // most writes that are not retried are status writes
	}
	return one
}

// reads proposes errors for the reads just before a write.
func reads(c *course) []proposal {
	var all []proposal
	for _, p := range c.reads {
		for _, kind := range []fault.Kind{fault.Unavailable, fault.ServerError, fault.TimeOut, fault.Throttle, fault.Cut} {
			all = append(all, at(p, readFails, fault.Fault{Kind: kind, Moment: fault.Before}, "it cannot read what it needs to "+p.after))
		}
	}
	return all
}

// watches proposes to cut watches after each number of events that they may show.
func watches(c *course) []proposal {
	most := map[string]int{}
	for _, change := range c.changes {
		most[change.Resource]++
	}
	var all []proposal
	seen := map[string]bool{}
	for _, r := range c.watches {
		if seen[r.Resource] {
			continue
		}
		seen[r.Resource] = true
		for events := 1; events <= min(most[r.Resource], 6); events++ {
			f := fault.Fault{Kind: fault.CutWatch, Events: events, On: fault.Match{Verb: "watch", Group: r.Group, Resource: r.Resource, Nth: 1}}
			all = append(all, proposal{
				class: broken, faults: []fault.Fault{f}, certain: true, promise: 10 - events,
				why:  fmt.Sprintf("the connection breaks when it has seen %d changes of %s", events, r.Resource),
				same: fmt.Sprintf("%s|%s|%d", f.Kind, r.Resource, events),
			})
		}
	}
	return all
}

// delay is the duration of a slow request. It is longer than any operator may expect.
const delay = 700 * time.Millisecond

// delays proposes slow responses to writes.
func delays(c *course) []proposal {
	var all []proposal
	for _, p := range c.writes {
		all = append(all, at(p, slow, fault.Fault{Kind: fault.Delay, Moment: fault.Effect, For: metav1.Duration{Duration: delay}}, "the answer takes a while, and the change is seen before it"))
	}
	return all
}
