package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// timelineView is a timeline as a table: a row for each step, a column for each run.
type timelineView struct {
	Titles, Notes []string
	Steps         []stepRow
}

// stepRow is a step with a cell for each run.
type stepRow struct {
	Name string
	Runs []stepCell
}

// stepCell is a step in one run. Why is the reason why the operator did not become silent.
type stepCell struct {
	Took, Why string
	Events    []event
}

// event is an entry of a timeline. Kind selects its style. Differs marks objects that are
// different in the other run. Tip lists the reads that one entry combines.
type event struct {
	at              time.Time
	Offset          string
	Kind, Text, Tip string
	Differs         bool
}

// view returns a timeline as a table.
func (t *Timeline) view(f *finding.Finding) *timelineView {
	v := &timelineView{Titles: []string{"This run"}}
	if _, known := t.Failing.struck(); known {
		v.Titles[0] = "With the fault"
	}
	courses := []*Course{&t.Failing}
	if t.Reference != nil {
		v.Titles, courses = append(v.Titles, "A good run"), append(courses, t.Reference)
	}
	for _, c := range courses {
		if c.Cut > 0 {
			v.Notes = append(v.Notes, fmt.Sprintf("%d requests and changes are left out.", c.Cut))
		}
		events := c.events(func(label string) bool { return t.differs(label, f) })
		for i, b := range begins(c) {
			at := slices.IndexFunc(v.Steps, func(row stepRow) bool { return row.Name == b.name })
			if at < 0 {
				at, v.Steps = len(v.Steps), append(v.Steps, stepRow{b.name, make([]stepCell, len(courses))})
			}
			v.Steps[at].Runs[slices.Index(courses, c)] = c.cell(i, events)
		}
	}
	return v
}

// begin is the start of a step in a run.
type begin struct {
	name string
	at   time.Time
}

// begins returns the starts of a run's steps, preceded by the start of the run itself. Repeated names are numbered.
func begins(c *Course) []begin {
	all := []begin{{at: c.Started}}
	seen := map[string]int{}
	for _, step := range c.Steps {
		seen[step.Name]++
		name := short(terminal.Line(step.Name), 80)
		if n := seen[step.Name]; n > 1 {
			name += fmt.Sprintf(" (%d)", n)
		}
		all = append(all, begin{name, step.At})
	}
	return all
}

// cell returns the events between a start and the next one.
func (c *Course) cell(i int, events []event) stepCell {
	all := begins(c)
	var cell stepCell
	if i > 0 {
		step := c.Steps[i-1]
		cell.Took = took(step.Took)
		if !step.Silent {
			cell.Why = cmp.Or(short(terminal.Line(step.Why), 300), "not silent")
		}
	}
	last := all[i].at
	for _, e := range events {
		if e.at.Before(all[i].at) && i > 0 || i+1 < len(all) && !e.at.Before(all[i+1].at) {
			continue
		}
		if wait := e.at.Sub(last); wait >= timing.quiet {
			cell.Events = append(cell.Events, event{Kind: "wait", Text: took(wait.Round(100 * time.Millisecond))})
		}
		last, e.Offset = e.at, "+"+took(max(0, e.at.Sub(all[i].at)))
		cell.add(e)
	}
	return cell
}

// add appends an event. Consecutive reads without a fault are combined in one entry.
func (s *stepCell) add(e event) {
	if n := len(s.Events); n > 0 && e.Kind == "read" && s.Events[n-1].Kind == "read" {
		before := &s.Events[n-1]
		before.Tip = cmp.Or(before.Tip, before.Text) + "\n" + e.Text
		before.Text = plural.Count(strings.Count(before.Tip, "\n")+1, "read")
		return
	}
	s.Events = append(s.Events, e)
}

// events returns all events of a run, ordered by time.
func (c *Course) events(differs func(label string) bool) []event {
	var all []event
	marked := false
	for _, r := range c.Requests {
		marked = marked || r.Fault != ""
		all = append(all, event{at: r.At, Kind: requestKind(&r), Text: requestText(&r)})
	}
	if at, known := c.struck(); known && !marked {
		all = append(all, event{at: at, Kind: "struck", Text: "◀ the fault"})
	}
	for _, change := range c.Changes {
		all = append(all, event{
			at: change.At, Kind: strings.ToLower(terminal.Line(change.Type)), Text: changeText(&change), Differs: differs(labelOf(&change)),
		})
	}
	for _, exit := range c.Exits {
		all = append(all, event{at: exit.At, Kind: "end", Text: "the operator " + ending(&exit)})
		if i := slices.IndexFunc(c.Requests, func(r requestlog.Request) bool { return r.At.After(exit.At) }); i >= 0 {
			all = append(all, event{at: c.Requests[i].At.Add(-1), Kind: "life", Text: "the operator is at work again"})
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return a.at.Compare(b.at) })
	return all
}

func requestText(r *requestlog.Request) string {
	text := fmt.Sprintf("%s %s: %s", terminal.Line(r.Verb), short(terminal.Line(objectOf(r)), 120), status(r))
	if r.Effect != "" {
		text += ", " + effect(r)
	}
	if r.Fault != "" {
		text += " ◀ " + mark(r.Fault)
	}
	return text
}

// requestKind returns the style of a request.
func requestKind(r *requestlog.Request) string {
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

func changeText(change *runlog.Change) string {
	what := map[string]string{"ADDED": "created", "MODIFIED": "changed", "DELETED": "gone"}[change.Type]
	if change.Deleting && change.Type == "MODIFIED" {
		what = "to be deleted, waits for finalizers"
	}
	text := short(terminal.Line(change.Kind+"/"+change.Name), 120) + " " + what
	if change.Manager != "" {
		text += ", by " + short(terminal.Line(change.Manager), 60)
	}
	return text
}

// ending describes how an operator exited.
func ending(exit *runlog.Exit) string {
	switch {
	case exit.Panic != "":
		return "panicked: " + short(terminal.Line(exit.Panic), 200)
	case exit.Asked:
		return "was killed on purpose"
	case exit.Signal != "":
		return "was ended by signal " + exit.Signal
	}
	return fmt.Sprintf("ended by itself with code %d", exit.Code)
}

// labelOf returns a label for an object. All objects with names that were generated from the same prefix have the same label.
func labelOf(change *runlog.Change) string {
	if change.GenerateName != "" {
		return change.Kind + "/" + change.GenerateName + "…"
	}
	return change.Kind + "/" + change.Name
}

// differs reports whether the creations and deletions of an object differ from the other run, or whether
// the finding names the object.
func (t *Timeline) differs(label string, f *finding.Finding) bool {
	if slices.ContainsFunc(f.Diff, func(d finding.Difference) bool { return d.Of == label }) {
		return true
	}
	return t.Reference != nil && lifeOf(&t.Failing, label) != lifeOf(t.Reference, label)
}

// lifeOf returns the creations and deletions of an object.
func lifeOf(c *Course, label string) string {
	var life []string
	for _, change := range c.Changes {
		if labelOf(&change) == label && change.Type != "MODIFIED" {
			life = append(life, change.Type)
		}
	}
	return strings.Join(life, " ")
}

// struck returns when the first fault was injected: the time of the first request with a fault, or else of the change whose
// watch event triggered the fault.
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

// stepAt returns the name of the step at a moment.
func (c *Course) stepAt(moment time.Time) string {
	name := ""
	for _, step := range c.Steps {
		if !moment.Before(step.At) {
			name = step.Name
		}
	}
	return name
}

// chosen reports whether the watch event of a change matches a fault.
func chosen(on *fault.Match, change *runlog.Change) bool {
	fits := func(want, got string) bool { return want == "" || want == got }
	return fits(on.Resource, change.Resource) && fits(on.Name, change.Name) && fits(on.Type, change.Type)
}
