// Package rule defines what a lint rule is, and what it checks: a [Subject], which is an operator's project read
// once. Its manifests are typed and know their lines, its Go code is type-checked and indexed by who calls whom, and
// the two are tied together: a field of a CustomResourceDefinition has a place in the Go type that it was generated
// from.
//
// A rule is a [Rule]: its words, and one function from a Subject to findings. It never writes,
// runs or asks anything outside of the project.
package rule

import (
	"cmp"
	"fmt"
)

// Severity is how much a finding matters.
type Severity string

// The severities.
const (
	// Error is what will do damage: data lost, objects left behind, a cluster open to whoever takes
	// the operator over, an object that an API server refuses. A run with one fails.
	Error Severity = "error"
	// Warning is what does damage in circumstances that come in production: load, several replicas,
	// a slow API server, a mistyped object.
	Warning Severity = "warning"
	// Advice is what makes the operator better to use.
	Advice Severity = "advice"
)

// Severities are all of them, the gravest first.
var Severities = []Severity{Error, Warning, Advice}

// Rule names one mistake.
type Rule struct {
	// Name is what it is called everywhere: in findings, flags and comments. Lower case and hyphens.
	Name string
	// Severity is that of its findings.
	Severity Severity
	// About says in one sentence what it names.
	About string
	// Reason says in one or two sentences what comes of it in production.
	Reason string
	// Fix says what to do.
	Fix string
	// Check adds a finding for each place.
	Check func(s *Subject, found *Findings)
}

// Place is a place in a file of the project.
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

// Finding is one place where a rule is broken.
type Finding struct {
	// Rule and Severity are the rule's.
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Place
	// Message says what is there.
	Message string `json:"message"`
	// Reason says what comes of it, Fix what to do.
	Reason string `json:"reason"`
	Fix    string `json:"fix"`
	// Fixable: --fix does it.
	Fixable bool `json:"fixable,omitempty"`

	// Also are other places where a comment that ignores it may stand.
	Also []Place `json:"-"`
	// Edits do the fix.
	Edits []Edit `json:"-"`
}

// Edit changes whole lines of a file: it deletes Line where Insert is empty, and else puts Insert, with
// no newline, before it.
type Edit struct {
	File   string
	Line   int
	Insert string
}

// Findings collects those of one rule.
type Findings struct {
	rule *Rule
	all  []Finding
}

// Run checks one rule.
func (r *Rule) Run(s *Subject) []Finding {
	found := &Findings{rule: r}
	r.Check(s, found)
	return found.all
}

// Add adds a finding. Its words may be changed by what is returned, until the next one is added.
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
