package report

import (
	"fmt"
	"strings"
)

// summary writes what was executed, which properties held, and what was not covered.
func (p *page) summary(r *Report, files []File) {
	p.put("")
	p.labelled("cases", plain, figures(r))
	p.labelled("faults", plain, covered(r))
	if held := r.held(); len(held) > 0 {
		var names []string
		for _, property := range held {
			names = append(names, string(property))
		}
		p.labelled("passed", plain, strings.Join(names, ", "))
	}
	for i, note := range r.Notes {
		label := "note"
		if i > 0 {
			label = ""
		}
		p.labelled(label, plain, note)
	}
	p.rights(r.Rights)
	for i, file := range files {
		label := "wrote"
		if i > 0 {
			label = ""
		}
		p.labelled(label, plain, file.Path+" ("+file.What+")")
	}
}

// figures describes how many plans were executed, how long they took, and how many were not executed.
func figures(r *Report) string {
	text := fmt.Sprintf("%d run in %s", r.Plans.Run, took(r.Took))
	if r.Plans.Run > 0 {
		text += fmt.Sprintf(", %s each (median)", took(r.medianRun()))
	}
	if r.Plans.Void > 0 {
		text += fmt.Sprintf("; in %d the fault did not fire", r.Plans.Void)
	}
	if r.Plans.Skipped > 0 {
		text += fmt.Sprintf("; %d not run", r.Plans.Skipped)
		if !r.Interrupted {
			text += ", out of time"
		}
	}
	return text + fmt.Sprintf("; seed %d", r.Seed)
}

// covered describes the classes of faults, with the number of runs of each.
func covered(r *Report) string {
	var parts []string
	for _, s := range r.suites() {
		parts = append(parts, fmt.Sprintf("%d× %s", len(s.Runs), s.Class))
	}
	return strings.Join(parts, ", ")
}

func (p *page) rights(rights *Rights) {
	if rights == nil {
		return
	}
	if rights.Undeclared {
		p.labelled("rbac", plain, "no Role is declared, so every request was allowed; --print-rbac prints the least-privilege Role")
		return
	}
	if len(rights.Missing)+len(rights.Unused) == 0 {
		p.labelled("rbac", plain, "the declared permissions are exactly the needed ones")
	}
	label := "rbac"
	for _, rule := range rights.Missing {
		p.labelled(label, red, "missing: "+rule)
		label = ""
	}
	for _, rule := range rights.Unused {
		p.labelled(label, yellow, "never used: "+rule)
		label = ""
	}
}
