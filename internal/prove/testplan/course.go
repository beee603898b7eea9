package testplan

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// course contains the parts of a run without faults that matter to the planner.
type course struct {
	namespace string
	steps     []runlog.Step
	writes    []point // effective writes, in order
	reads     []point // gets and lists just before such a write
	watches   []requestlog.Request
	watched   map[string]bool // resources of the watches
	changes   []change
	asked     string              // resource of the first custom resource that the user wrote
	leases    *requestlog.Request // the first write to a lease, or nil
}

// point is a request into which a fault can be injected.
type point struct {
	request requestlog.Request
	on      fault.Match
	// step is the index of the workload's step. nth is the index among the writes of that step.
	step, nth int
	// before and after are the previous and the next write, in words. They are empty at the beginning and the end of a step.
	before, after string
	// certain means that the same occurrence is the same write in each run without faults.
	certain bool
	// generated means that the API server generated the object's name.
	generated bool
}

// change is a change of an object that a watch shows.
type change struct {
	runlog.Change
	step int
	// byOperator means that a request of the operator made the change.
	byOperator bool
	// on matches the watch event of the change.
	on fault.Match
	// before is the type of the previous change of the same object in the same step: ADDED, MODIFIED or DELETED.
	before string
	// certain means that the change is the same in each run without faults.
	certain bool
}

// read reads the first trace, and marks what is not the same in the others as uncertain.
func read(refs []runlog.Trace) *course {
	c := &course{namespace: refs[0].Namespace, steps: refs[0].Steps, watched: map[string]bool{}}
	c.requests(refs[0])
	c.changed(refs[0])
	for _, other := range refs[1:] {
		d := &course{namespace: other.Namespace, steps: other.Steps, watched: map[string]bool{}}
		d.requests(other)
		d.changed(other)
		c.writes, c.reads = confirm(c.writes, d.writes), confirm(c.reads, d.reads)
		shown := map[fault.Match]int{}
		for _, one := range d.changes {
			shown[one.on] = one.step
		}
		for i := range c.changes {
			step, there := shown[c.changes[i].on]
			c.changes[i].certain = c.changes[i].certain && there && step == c.changes[i].step
		}
	}
	return c
}

// confirm marks points as uncertain if others does not contain them.
func confirm(points, others []point) []point {
	there := map[string]bool{}
	for _, one := range others {
		there[one.place()] = true
	}
	for i := range points {
		points[i].certain = points[i].certain && there[points[i].place()]
	}
	return points
}

// place identifies a request of a run by its match and its neighbors.
func (p point) place() string {
	return strings.Join([]string{strconv.Itoa(p.step), p.on.String(), p.before, p.after}, "|")
}

func (c *course) requests(t runlog.Trace) {
	generated := generatedNames(t)
	seen := map[fault.Match]int{}
	var near []point // reads since the last write
	for _, r := range t.Requests {
		p := point{request: r, step: c.stepOf(r.Seq), certain: true, generated: generated[r.Resource+"/"+r.Name]}
		if p.step < 0 {
			break // requests after the last step belong to the cleanup
		}
		p.on = c.match(&r, p.generated)
		if !r.At.Before(c.steps[0].At) {
			p.on.Step = c.steps[p.step].Name
		}
		key := p.on
		seen[key]++
		p.on.Nth = seen[key]
		switch {
		case r.IsLease():
			if c.leases == nil && r.IsWrite() {
				c.leases = &r
			}
		case r.IsBeside():
		case r.Verb == "watch":
			c.watches = append(c.watches, r)
			c.watched[r.Resource] = true
		case r.IsWrite() && r.Effect == requestlog.Changed:
			c.reads = append(c.reads, near...)
			near = nil
			c.writes = append(c.writes, p)
		case r.Verb == "get" || r.Verb == "list":
			near = append(near, p)
			near = near[max(0, len(near)-2):]
		}
	}
	c.neighbours()
}

// neighbours records the writes before and after each write within a step.
func (c *course) neighbours() {
	for i := range c.writes {
		w := &c.writes[i]
		if i > 0 && c.writes[i-1].step == w.step {
			w.before, w.nth = words(&c.writes[i-1].request), c.writes[i-1].nth+1
		}
		if i+1 < len(c.writes) && c.writes[i+1].step == w.step {
			w.after = words(&c.writes[i+1].request)
		}
	}
	for i := range c.reads {
		r := &c.reads[i]
		next, _ := slices.BinarySearchFunc(c.writes, r.request.Seq, func(w point, seq int64) int { return cmp.Compare(w.request.Seq, seq) })
		if next < len(c.writes) {
			r.after = words(&c.writes[next].request)
		}
	}
}

// match returns a match that also selects the request in the next run. It contains neither the namespace, which
// is different in the next run, nor a name that the API server generated.
func (c *course) match(r *requestlog.Request, generated bool) fault.Match {
	m := fault.Match{Verb: r.Verb, Group: r.Group, Resource: r.Target()}
	if !generated && (c.namespace == "" || !strings.Contains(r.Name, c.namespace)) {
		m.Name = r.Name
	}
	return m
}

// stepOf returns the index of the step in which a request was received, or -1 after the last step.
func (c *course) stepOf(seq int64) int {
	for i, step := range c.steps {
		if seq <= step.Last {
			return i
		}
	}
	return -1
}

// changed records the changes that watches show since the workload began.
func (c *course) changed(t runlog.Trace) {
	made := map[string]bool{}
	for i := range t.Requests {
		if r := &t.Requests[i]; r.IsWrite() && r.After != "" {
			made[r.Resource+" "+r.After] = true
		}
	}
	seen := map[fault.Match]int{}
	last := map[string]change{}
	for i, one := range t.Changes {
		step := c.stepOfChange(i)
		if step < 0 || one.At.Before(c.steps[0].At) {
			continue
		}
		to := change{Change: one, step: step, byOperator: made[one.Resource+" "+one.Version], certain: true}
		group, _, grouped := strings.Cut(one.APIVersion, "/")
		if !grouped {
			group = ""
		}
		to.on = fault.Match{Verb: fault.Event, Group: group, Resource: one.Resource, Type: one.Type, Step: c.steps[step].Name}
		if one.GenerateName == "" && (c.namespace == "" || !strings.Contains(one.Name, c.namespace)) {
			to.on.Name = one.Name
		}
		if c.asked == "" && one.Manager == userManager && strings.Contains(group, ".") {
			c.asked = one.Resource
		}
		seen[to.on]++
		to.on.Nth = seen[to.on]
		id := one.Resource + "/" + one.Name
		if before, known := last[id]; known && before.step == step {
			to.before = before.Type
		}
		last[id] = to
		c.changes = append(c.changes, to)
	}
}

// userManager is the field manager of the workload.
const userManager = "operon-prove"

// stepOfChange returns the index of the step in which a change happened, or -1 after the last step.
func (c *course) stepOfChange(i int) int {
	for step, one := range c.steps {
		if i < one.LastChange {
			return step
		}
	}
	return -1
}

// isWatched reports whether the operator watches a resource.
func (c *course) isWatched(resource string) bool { return c.watched[resource] }

// generatedNames returns the objects, as resource/name, whose names the API server generated.
func generatedNames(t runlog.Trace) map[string]bool {
	names := map[string]bool{}
	for _, change := range t.Changes {
		if change.GenerateName != "" {
			names[change.Resource+"/"+change.Name] = true
		}
	}
	return names
}

// words returns the verb and the resource of a request, without the object's name.
func words(r *requestlog.Request) string { return r.Verb + " " + r.Target() }

// shuffled returns a number for a text. It is different for each seed.
func shuffled(seed int64, text string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(strconv.FormatInt(seed, 10) + text)) // never fails
	return hash.Sum64()
}
