package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// The parts of the page. They are embedded, so that the page is one file that loads nothing.
var (
	//go:embed page.html
	pageTemplate string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

var pages = template.Must(template.New("page").Parse(pageTemplate))

// HTML writes a page that does not need other files, for light and dark screens and for printing.
// Without JavaScript, only the filter and the copy button are missing.
func HTML(w io.Writer, r Report) error {
	r = Redact(r)
	var page strings.Builder
	if err := pages.Execute(&page, viewOf(&r)); err != nil {
		return err
	}
	_, err := io.WriteString(w, terminal.Clean(page.String()))
	return err
}

// htmlView is the data that the page shows.
type htmlView struct {
	Style  template.CSS
	Script template.JS
	// ScriptHash restricts the browser to this script.
	ScriptHash string

	Name, Headline, Tone string
	Command              string
	Meta                 []string
	Figures              []figure
	Suites               []suiteView
	Notes                []string
	Held                 []propertyView
	Findings             []card
	Runs                 []runView
	Rights               *Rights
	Balanced             bool
}

// figure is a number with a label.
type figure struct{ Value, Of string }

type suiteView struct {
	Class string
	Cells []runView
}

// runView is a plan that was executed.
type runView struct {
	Number                          int
	Plan, Why, Class, Took, Verdict string
	// Cards contains the numbers of its findings.
	Cards []int
}

type propertyView struct {
	ID, Title string
	// Count is the number of findings about the property.
	Count int
}

// card is a finding as the page shows it.
type card struct {
	Number                        int
	Title, Of, Message, Means     string
	Advice, Class, Property, Step string
	Also                          string
	Flaky, Note                   bool
	Accepted, Flakiness           string
	// Planned is true if the finding has a plan. Faults may still be empty.
	Planned  bool
	Faults   [][]part
	Diff     []difference
	MoreDiff int
	Requests []requestRow
	Log      []string
	Replay   string
	Timeline *timelineView
}

func viewOf(r *Report) htmlView {
	sum := sha256.Sum256([]byte(pageScript))
	v := htmlView{
		Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		ScriptHash: "sha256-" + base64.StdEncoding.EncodeToString(sum[:]),
		Name:       terminal.Line(r.Operator.Name), Headline: upper(Headline(*r)), Tone: toneOf(r),
		Command: terminal.Line(short(strings.Join(r.Operator.Command, " "), shown)),
		Meta:    metaOf(r), Figures: figuresOf(r), Notes: r.Notes, Rights: r.Rights,
	}
	for i := range r.Runs {
		v.Runs = append(v.Runs, r.runView(i))
	}
	for _, s := range r.suites() {
		view := suiteView{Class: s.Class}
		for _, i := range s.Runs {
			view.Cells = append(view.Cells, v.Runs[i])
		}
		v.Suites = append(v.Suites, view)
	}
	for _, p := range r.Checked {
		view := propertyView{ID: string(p), Title: about(p).title}
		for _, f := range r.Findings {
			if f.Property == p {
				view.Count++
			}
		}
		v.Held = append(v.Held, view)
	}
	for i := range r.Findings {
		v.Findings = append(v.Findings, r.card(i))
	}
	v.Balanced = r.Rights != nil && !r.Rights.Undeclared && len(r.Rights.Missing)+len(r.Rights.Unused) == 0
	return v
}

// toneOf returns the style of the headline.
func toneOf(r *Report) string {
	switch {
	case r.Failures() > r.flaky():
		return "failed"
	case r.Failures() > 0:
		return "flaky"
	case r.Interrupted || r.Plans.Run == 0:
		return "void"
	}
	return "passed"
}

func metaOf(r *Report) []string {
	meta := []string{r.Started.UTC().Format("2 January 2006, 15:04 UTC")}
	if r.Cluster != "" {
		meta = append(meta, "Kubernetes "+terminal.Line(r.Cluster))
	}
	meta = append(meta, fmt.Sprintf("seed %d", r.Seed))
	if r.Budget > 0 {
		meta = append(meta, "time limit "+r.Budget.String())
	}
	return meta
}

func figuresOf(r *Report) []figure {
	all := []figure{{fmt.Sprint(r.Plans.Run), "test cases run"}, {took(r.Took), "total"}}
	if r.Plans.Run == 1 {
		all[0].Of = "test case run"
	}
	if r.Plans.Run > 0 {
		all = append(all, figure{took(r.medianRun()), "per test case (median)"})
	}
	if len(r.Checked) > 0 {
		all = append(all, figure{fmt.Sprintf("%d of %d", len(r.held()), len(r.Checked)), "invariants held"})
	}
	if r.Plans.Skipped > 0 {
		all = append(all, figure{fmt.Sprint(r.Plans.Skipped), "not run"})
	}
	if r.Plans.Void > 0 {
		all = append(all, figure{fmt.Sprint(r.Plans.Void), "did not fire"})
	}
	if r.Plans.Aborted > 0 {
		all = append(all, figure{fmt.Sprint(r.Plans.Aborted), "not completed"})
	}
	return all
}

func (r *Report) runView(i int) runView {
	run := &r.Runs[i]
	view := runView{
		Number: i + 1, Plan: short(terminal.Line(run.Plan), 300), Why: short(terminal.Line(cmp.Or(run.Problem, run.Why)), 300),
		Class: FaultClass(run.Faults), Took: took(run.Took), Verdict: string(run.Verdict),
	}
	for _, key := range run.Findings {
		if at := r.byKey(key); at >= 0 {
			view.Cards = append(view.Cards, at+1)
		}
	}
	return view
}

func (r *Report) card(i int) card {
	f := &r.Findings[i]
	about := about(f.Property)
	c := card{
		Number: i + 1, Title: upper(about.broken), Message: upper(terminal.Clean(short(f.Text(), shown))), Means: about.means, Advice: about.advice,
		Class: string(f.Class), Property: string(f.Property), Step: terminal.Line(f.Step), Flaky: f.Flaky, Flakiness: flakiness(f), Note: f.Level == finding.Note, Accepted: terminal.Clean(f.Accepted), Planned: f.Plan != nil, Faults: parted(faultsOf(f)),
		Requests: requestRows(f.Last),
	}
	if f.Of != nil {
		c.Of = terminal.Line(f.Of.Kind + "/" + f.Of.Name)
	}
	if f.Also > 0 {
		c.Also = plural.Count(f.Also, "other test case")
	}
	if f.File != "" {
		c.Replay = ReplayCommand(f.File)
	}
	c.Diff, c.MoreDiff = differences(f)
	for _, one := range f.Log[max(0, len(f.Log)-keptLog):] {
		c.Log = append(c.Log, short(terminal.Clean(one), shown))
	}
	if t := r.timeline(f.Key()); t != nil {
		c.Timeline = t.view(f)
	}
	return c
}

// faultsOf describes the faults of a finding's plan. It returns nil if the finding occurs without faults.
func faultsOf(f *finding.Finding) []string {
	var all []string
	if f.Plan != nil {
		for _, one := range f.Plan.Faults {
			all = append(all, terminal.Clean(Words(one)))
		}
	}
	return all
}

// part is a piece of a sentence. It may be a request, which is shown as code.
type part struct {
	Text string
	Code bool
}

// parted splits sentences at backticks: the text between backticks is code.
func parted(sentences []string) [][]part {
	var all [][]part
	for _, sentence := range sentences {
		var parts []part
		for i, text := range strings.Split(sentence, "`") {
			parts = append(parts, part{text, i%2 == 1})
		}
		all = append(all, parts)
	}
	return all
}

// upper capitalizes the first letter of a text.
func upper(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
