package report

import (
	"fmt"
	"strings"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// overview writes what a reader needs first: what was done, what failed, how to repeat it, and what was not tested.
func (p *page) overview(r *Report) {
	p.put("")
	p.labelled("done", plain, done(r))
	p.list("failed", red, r.failed())
	if file := r.firstFile(); file != "" {
		command := p.replay(file)
		p.put("   " + p.Paint(dim, terminal.Pad("repeat", labels)) + p.Paint(bold, command)) // in one line, to be copied
	}
	if missed := r.untested(); missed != "" {
		p.labelled("untested", plain, missed)
	}
	p.list("note", plain, r.Notes)
}

// list writes a label and a text in each line.
func (p *page) list(label, c string, texts []string) {
	for i, text := range texts {
		if i > 0 {
			label = ""
		}
		p.labelled(label, c, text)
	}
}

// done describes what was executed and how long it took.
func done(r *Report) string {
	if r.Plans.Run == 0 {
		return fmt.Sprintf("ran the operator without faults in %s; seed %d", took(r.Took), r.Seed)
	}
	return fmt.Sprintf("ran the operator without faults, then %s, %s each (median), in %s; seed %d",
		plural.Count(r.Plans.Run, "test case"), took(r.medianRun()), took(r.Took), r.Seed)
}

// mostFailed is the number of failures that the overview lists.
const mostFailed = 5

// failed lists the failures with their numbers.
func (r *Report) failed() []string {
	var all []string
	for i := range r.Findings {
		f := &r.Findings[i]
		if !f.Fails() {
			continue
		}
		if len(all) == mostFailed {
			return append(all, fmt.Sprintf("and %d more", r.Failures()-mostFailed))
		}
		text := fmt.Sprintf("%d  %s", i+1, titleOf(f))
		if f.Flaky {
			text += " (flaky)"
		}
		all = append(all, text)
	}
	return all
}

// titleOf returns the title of a finding in one line.
func titleOf(f *finding.Finding) string {
	title := upper(about(f.Property).broken)
	if f.Of != nil {
		title += ": " + terminal.Line(f.Of.Kind+"/"+f.Of.Name)
	}
	return title
}

// firstFile returns the plan file of the first failure that has one. It returns "" if there is none.
func (r *Report) firstFile() string {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Fails() && f.File != "" {
			return f.File
		}
	}
	return ""
}

// Problem returns why the first run that could not be completed could not, or "".
func (r *Report) Problem() string {
	for i := range r.Runs {
		if r.Runs[i].Verdict == Aborted {
			return r.Runs[i].Problem
		}
	}
	return ""
}

// untested describes how many test cases show nothing, and why.
func (r *Report) untested() string {
	var missed []string
	if r.Plans.Skipped > 0 {
		reason := "out of time"
		if r.Interrupted {
			reason = "interrupted"
		}
		missed = append(missed, fmt.Sprintf("%s, %s", plural.Count(r.Plans.Skipped, "test case"), reason))
	}
	if r.Plans.Void > 0 {
		missed = append(missed, fmt.Sprintf("%s, the fault did not fire", plural.Count(r.Plans.Void, "test case")))
	}
	if r.Plans.Aborted > 0 {
		missed = append(missed, fmt.Sprintf("%s, could not be completed (%s)", plural.Count(r.Plans.Aborted, "test case"), short(r.Problem(), 300)))
	}
	return strings.Join(missed, "; ")
}
