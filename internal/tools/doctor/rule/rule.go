// Package rule defines a lint rule and what it checks: a [Subject], which is an operator project that was read once. Its
// manifests are typed and know their lines. Its Go code is type-checked and indexed by which function calls which. Both are
// connected: a field of a CustomResourceDefinition has a place in the Go type that it was generated from.
//
// A rule is a [Rule]: its texts, and one function from a Subject to findings. It never writes or runs anything, and never
// reads anything outside the project.
package rule

import (
	"cmp"
	"fmt"
)

// Severity is the severity of a finding.
type Severity string

// The severities.
const (
	// Error is a finding that will do damage: lost data, objects that are left behind, a cluster open to an attacker who takes
	// over the operator, an object that an API server rejects. A run with one fails.
	Error Severity = "error"
	// Warning is a finding that does damage in circumstances that occur in production: load, several replicas, a slow API server,
	// a mistyped object.
	Warning Severity = "warning"
	// Advice is a suggestion that makes the operator easier to use.
	Advice Severity = "advice"
)

// Severities lists all severities, the most severe first.
var Severities = []Severity{Error, Warning, Advice}

// Rule describes one kind of problem.
type Rule struct {
	// Name is the name in findings, flags and comments, in lower case and with hyphens.
	Name string
	// Severity is the severity of its findings.
	Severity Severity
	// About describes the problem in one sentence.
	About string
	// Reason describes the consequences in production in one or two sentences.
	Reason string
	// Fix describes what to do.
	Fix string
	// Check adds a finding for each place with the problem. It is nil for rules about other subjects.
	Check func(s *Subject, found *Findings)
}

// Place is a position in a file of the project.
type Place struct {
	// File is relative to the project's directory, with slashes.
	File string `json:"file"`
	// Line and Column count from 1.
	Line   int `json:"line"`
	Column int `json:"column"`
}

func (p Place) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Compare orders places by file, line and column.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Finding is one place that violates a rule.
type Finding struct {
	// Rule and Severity are the name and severity of the rule.
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Place
	// Message describes the problem at this place.
	Message string `json:"message"`
	// Reason describes the consequences, and Fix what to do.
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
	// Fixable reports that --fix fixes it.
	Fixable bool `json:"fixable,omitempty"`

	// Also lists other places at which a comment can ignore the finding.
	Also []Place `json:"-"`
	// Edits fix the finding.
	Edits []Edit `json:"-"`
}

// Edit changes whole lines of a file: it deletes Line if Insert is empty. Otherwise it inserts Insert, which has no newline,
// before Line.
type Edit struct {
	File   string
	Line   int
	Insert string
}

// Findings collects the findings of one rule.
type Findings struct {
	rule *Rule
	all  []Finding
}

// Run checks one rule.
func (r *Rule) Run(s *Subject) []Finding {
	return r.Collect(func(found *Findings) { r.Check(s, found) })
}

// Collect returns the findings that check adds. It serves rules about other subjects than a project.
func (r *Rule) Collect(check func(found *Findings)) []Finding {
	found := &Findings{rule: r}
	check(found)
	return found.all
}

// Add adds a finding and returns it. The caller may change it until the next one is added.
func (f *Findings) Add(at Place, format string, values ...any) *Finding {
	f.all = append(f.all, Finding{
		Rule: f.rule.Name, Severity: f.rule.Severity, Place: at,
		Message: fmt.Sprintf(format, values...), Reason: f.rule.Reason, Fix: f.rule.Fix,
	})
	return &f.all[len(f.all)-1]
}

// Has reports whether there is a finding at a place.
func (f *Findings) Has(at Place) bool {
	for i := range f.all {
		if f.all[i].Place == at {
			return true
		}
	}
	return false
}
