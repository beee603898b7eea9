package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// chart is a timeline, laid out: what is drawn at which place.
type chart struct {
	Bands  []bandView
	Gaps   []gap
	Charts []courseView
	// More is how many objects there was no room for.
	More int
}

// bandView is a step, in percent of the width.
type bandView struct {
	Name     string
	At, Wide float64
}

// courseView is one run. Fault is where the fault struck, negative where none did.
type courseView struct {
	Title, Note string
	// Steps say how long each took.
	Steps []stepView
	Fault float64
	Lanes []lane
	// Height is that of the lanes, Whole that with the line below them that labels gaps.
	Height, Whole int
}

// stepView is how a step went in one run.
type stepView struct {
	bandView
	// Why is what went on, where the operator did not become silent.
	Why string
}

// lane is a line of a chart: the operator's, that of its requests, or an object's.
type lane struct {
	Label, Kind string
	// Of and Name are the label's parts, where it is an object's.
	Of, Name string
	// Differs: it is not the same in the run beside it.
	Differs      bool
	Y, Mid, High int
	Bars         []bar
	Marks        []tick
}

// bar is a time in which something was there.
type bar struct {
	At, Wide float64
	Tip      string
}

// tick is something that happened. Kind is what it looks like.
type tick struct {
	At        float64
	Kind, Tip string
}

// Heights of lanes, in pixels, and how many objects have one.
const (
	objectHeight   = 22
	operatorHeight = 26
	gapHeight      = 18
	shownObjects   = 12
)

// chartOf lays a timeline out.
func chartOf(t *Timeline, f *finding.Finding) *chart {
	s := newScale(&t.Failing, t.Reference)
	c := &chart{Gaps: s.gaps()}
	for _, b := range s.bands {
		c.Bands = append(c.Bands, b.view())
	}
	objects, more := objectsOf(t, f)
	c.More = more
	c.Charts = append(c.Charts, s.course(&t.Failing, "This run", objects))
	if t.Reference != nil {
		c.Charts = append(c.Charts, s.course(t.Reference, "Without faults", objects))
	}
	if c.Charts[0].Fault >= 0 {
		c.Charts[0].Title = "With the fault"
	}
	return c
}

// subject is an object that has a lane, in both runs.
type subject struct {
	label   string
	differs bool
}

// objectsOf are those of both runs that are shown: all if there is room, those that differ first.
func objectsOf(t *Timeline, f *finding.Finding) (all []subject, more int) {
	known := map[string]bool{}
	add := func(c *Course) {
		for _, change := range c.Changes {
			if label := labelOf(&change); !known[label] {
				known[label] = true
				all = append(all, subject{label, t.differs(label, f)})
			}
		}
	}
	if t.Reference != nil {
		add(t.Reference)
	}
	add(&t.Failing)
	if len(all) <= shownObjects {
		return all, 0
	}
	slices.SortStableFunc(all, func(a, b subject) int {
		switch {
		case a.differs == b.differs:
			return 0
		case a.differs:
			return -1
		}
		return 1
	})
	return all[:shownObjects], len(all) - shownObjects
}

// labelOf names an object, and all objects with a name that was generated from the same begin.
func labelOf(change *runlog.Change) string {
	if change.GenerateName != "" {
		return change.Kind + "/" + change.GenerateName + "…"
	}
	return change.Kind + "/" + change.Name
}

// differs tells whether an object came and went otherwise than in the run beside, or is one that the
// finding names.
func (t *Timeline) differs(label string, f *finding.Finding) bool {
	if slices.ContainsFunc(f.Diff, func(d finding.Difference) bool { return d.Of == label }) {
		return true
	}
	return t.Reference != nil && lifeOf(&t.Failing, label) != lifeOf(t.Reference, label)
}

// lifeOf are the comings and goings of an object.
func lifeOf(c *Course, label string) string {
	var life []string
	for _, change := range c.Changes {
		if labelOf(&change) == label && change.Type != "MODIFIED" {
			life = append(life, change.Type)
		}
	}
	return strings.Join(life, " ")
}

// course lays out one run.
func (s *scale) course(c *Course, title string, objects []subject) courseView {
	view := courseView{Title: title, Fault: -1, Steps: s.steps(c)}
	if c.Cut > 0 {
		view.Note = fmt.Sprintf("%d requests and changes are not shown.", c.Cut)
	}
	if moment, known := c.struck(); known {
		if at, ok := s.at(c, moment); ok {
			view.Fault = round(at)
		}
	}
	view.add(s.operator(c), operatorHeight)
	view.add(s.requests(c), operatorHeight)
	for _, o := range objects {
		view.add(s.object(c, o), objectHeight)
	}
	view.Whole = view.Height + gapHeight
	return view
}

// steps say how long each step took.
func (s *scale) steps(c *Course) []stepView {
	var all []stepView
	for i, b := range begins(c)[1:] {
		at := slices.IndexFunc(s.bands, func(one band) bool { return one.name == b.name && one.occurrence == b.occurrence })
		if at < 0 {
			continue
		}
		view, step := stepView{bandView: s.bands[at].view()}, c.Steps[i]
		view.Name = took(step.Took)
		if !step.Silent {
			view.Why = "not quiescent"
			if step.Why != "" {
				view.Why = short(line(step.Why), 300)
			}
		}
		all = append(all, view)
	}
	return all
}

// view is where a band is drawn.
func (b *band) view() bandView {
	first, last := b.places[0], b.places[len(b.places)-1]
	return bandView{b.name, round(first), round(last - first)}
}

// struck is when the first fault did: with a request that says so, or else with the change whose
// event it waited for.
func (c *Course) struck() (time.Time, bool) {
	for _, r := range c.Requests {
		if r.Fault != "" {
			return r.At, true
		}
	}
	for _, f := range c.Struck {
		seen := 0
		for _, change := range c.Changes {
			if f.On.Verb != fault.Event || !chosen(&f.On, &change) || f.On.Step != "" && c.stepAt(change.At) != f.On.Step {
				continue
			}
			if seen++; seen == max(f.On.Nth, 1) {
				return change.At, true
			}
		}
	}
	return time.Time{}, false
}

// stepAt is the name of the step that a moment is in.
func (c *Course) stepAt(moment time.Time) string {
	name := ""
	for _, b := range begins(c) {
		if !moment.Before(b.at) {
			name = b.name
		}
	}
	return name
}

// chosen tells whether a change is one of those whose events a fault waits for.
func chosen(on *fault.Match, change *runlog.Change) bool {
	fits := func(want, got string) bool { return want == "" || want == got }
	return fits(on.Resource, change.Resource) && fits(on.Name, change.Name) && fits(on.Type, change.Type)
}

func (v *courseView) add(l lane, height int) {
	l.Y, l.High, l.Mid = v.Height, height, v.Height+height/2
	v.Height += height
	v.Lanes = append(v.Lanes, l)
}

// operator draws when instances of it were there.
func (s *scale) operator(c *Course) lane {
	l := lane{Label: "operator", Kind: "life"}
	since := c.Started
	for _, exit := range c.Exits {
		from := exit.At.Add(-exit.After)
		if exit.After == 0 || from.Before(c.Started) {
			from = since
		}
		l.bar(s, c, from, exit.At, "ran for "+took(exit.At.Sub(from)))
		if at, ok := s.at(c, exit.At); ok {
			l.Marks = append(l.Marks, tick{round(at), "end", fmt.Sprintf("%s: %s", s.when(c, exit.At), ending(&exit))})
		}
		since = again(c, exit.At)
	}
	l.bar(s, c, since, end(c), "ran until the end")
	return l
}

// again is when an operator that ended was seen at work again.
func again(c *Course, since time.Time) time.Time {
	for _, r := range c.Requests {
		if r.At.After(since) {
			return r.At
		}
	}
	return since
}

// ending says how an operator ended.
func ending(exit *runlog.Exit) string {
	switch {
	case exit.Panic != "":
		return "panicked: " + short(line(exit.Panic), 200)
	case exit.Asked:
		return "killed on purpose"
	case exit.Signal != "":
		return "terminated by signal " + exit.Signal
	}
	return fmt.Sprintf("exited with code %d", exit.Code)
}

func (l *lane) bar(s *scale, c *Course, from, to time.Time, tip string) {
	begin, ok := s.at(c, from)
	if !ok {
		return
	}
	end, ok := s.at(c, to)
	if !ok {
		end = 100
	}
	l.Bars = append(l.Bars, bar{round(begin), round(max(0, end-begin)), tip})
}

// when says a moment as the time since its step's begin.
func (s *scale) when(c *Course, at time.Time) string {
	step := begin{at: c.Started}
	for _, b := range begins(c) {
		if !at.Before(b.at) {
			step = b
		}
	}
	text := "+" + took(at.Sub(step.at))
	if step.name != "" {
		text = short(line(step.name), 40) + " " + text
	}
	return text
}

func (s *scale) requests(c *Course) lane {
	l := lane{Label: "requests", Kind: "requests"}
	for _, r := range c.Requests {
		at, ok := s.at(c, r.At)
		if !ok {
			continue
		}
		tip := fmt.Sprintf("%s: %s %s, %s", s.when(c, r.At), line(r.Verb), short(line(objectOf(&r)), 120), status(&r))
		if r.Effect != "" {
			tip += ", " + effect(&r)
		}
		if r.Fault != "" {
			tip += " ◀ " + mark(r.Fault)
		}
		l.Marks = append(l.Marks, tick{round(at), tickOf(&r), tip})
	}
	return l
}

// tickOf is what a request looks like.
func tickOf(r *requestlog.Request) string {
	refused := r.Status >= 400 && (r.IsWrite() || r.Status != 404)
	switch {
	case r.Fault != "":
		return "struck"
	case refused, r.Status == 0 && r.Verb != "watch":
		return "refused"
	case r.IsWrite() && r.Effect == requestlog.Unchanged:
		return "idle"
	case r.IsWrite():
		return "write"
	}
	return "read"
}

// object draws when an object was there, and what happened to it.
func (s *scale) object(c *Course, o subject) lane {
	l := lane{Label: o.label, Kind: "object", Differs: o.differs}
	if of, name, found := strings.Cut(o.label, "/"); found {
		l.Of, l.Name = of+"/", name
	}
	born, from := map[string]bool{}, map[string]time.Time{}
	for _, change := range c.Changes {
		if labelOf(&change) != o.label {
			continue
		}
		id := change.Name + change.UID
		switch {
		case change.Type == "ADDED":
			from[id] = change.At
		case !born[id]:
			from[id] = c.Started
		}
		born[id] = true
		if at, ok := s.at(c, change.At); ok {
			l.Marks = append(l.Marks, tick{round(at), strings.ToLower(line(change.Type)), s.tipOf(c, &change)})
		}
		if change.Type == "DELETED" {
			l.bar(s, c, from[id], change.At, line(change.Kind+"/"+change.Name))
			delete(from, id)
		}
	}
	for _, id := range sorted(from) {
		l.bar(s, c, from[id], end(c), o.label)
	}
	return l
}

func (s *scale) tipOf(c *Course, change *runlog.Change) string {
	words := map[string]string{"ADDED": "created", "MODIFIED": "changed", "DELETED": "deleted"}
	what := words[change.Type]
	if change.Deleting && change.Type == "MODIFIED" {
		what = "marked for deletion, waiting for finalizers"
	}
	tip := fmt.Sprintf("%s: %s %s", s.when(c, change.At), short(line(change.Kind+"/"+change.Name), 120), what)
	if change.Manager != "" {
		tip += ", by " + short(line(change.Manager), 60)
	}
	return tip
}
