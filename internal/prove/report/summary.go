package report

import (
	"fmt"
	"slices"
	"strings"
)

// summary writes which faults were injected, which properties held, and what the permissions are.
func (p *page) summary(r *Report, files []File) {
	if len(r.Findings) > 0 {
		p.put("")
	}
	p.labelled("faults", plain, covered(r))
	if held := r.held(); len(held) > 0 {
		var names []string
		for _, property := range held {
			names = append(names, string(property))
		}
		p.labelled("passed", plain, strings.Join(names, ", "))
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

// covered describes the classes of faults, with the number of completed runs of each.
func covered(r *Report) string {
	var parts []string
	for _, s := range r.suites() {
		s.Runs = slices.DeleteFunc(s.Runs, func(i int) bool { return r.Runs[i].Verdict == Aborted })
		if len(s.Runs) == 0 {
			continue
		}
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
