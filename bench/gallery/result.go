package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/bench/internal/report"
	"github.com/operon-framework/operon/internal/prove/finding"
	results "github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

// result is the report of an operator. all is the duration of the whole command, from the start of a cluster to its removal.
type result struct {
	operator operators.Operator
	results.Report
	all time.Duration
}

// bug returns the finding that is caused by the operator's bug, or nil.
func (r result) bug() *finding.Finding {
	i := slices.IndexFunc(r.Findings, func(f finding.Finding) bool {
		return r.counts(f) && !f.Flaky && (f.Property == r.operator.Property || slices.Contains(r.operator.Also, f.Property))
	})
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

// counts reports whether a finding is what the operator's entry is about: a failure, or a note about permissions that are never used, which
// harm nobody.
func (r result) counts(f finding.Finding) bool {
	return f.Fails() || f.Property == finding.Needed && r.operator.Property == finding.Needed
}

// after returns the number of test cases up to the one that showed the bug. It is 1 if the run without faults shows it. All test cases together
// show which permissions are never used.
func (r result) after() int {
	if r.operator.Property == finding.Needed {
		return r.Plans.Run
	}
	key := r.bug().Key()
	return max(1, 1+slices.IndexFunc(r.Runs, func(run results.Run) bool { return slices.Contains(run.Findings, key) }))
}

// perCase returns the mean wall time of a test case, with the others beside it.
func (r result) perCase() time.Duration { return r.Took / time.Duration(max(r.Plans.Run, 1)) }

// String implements fmt.Stringer.
func (r result) String() string {
	return fmt.Sprintf("%s, %d test cases, %s", cmp.Or(r.verdict(), "nothing"), r.Plans.Run, report.Seconds(r.all))
}

// verdict names what was found.
func (r result) verdict() string {
	var all []string
	for _, f := range r.Findings {
		word := string(f.Property)
		switch {
		case f.Flaky:
			word += " (flaky)"
		case !r.counts(f):
			continue
		}
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return strings.Join(all, ", ")
}

// The goals.
const (
	recallGoal  = 0.95
	plansGoal   = 15
	perCaseGoal = time.Second
)

// write prints the results as Markdown tables: a row for each operator, and the figures of all.
func write(out io.Writer, s settings, all []result) error {
	text := "| operator | invariant | found | test cases until then | test cases | duration |\n| --- | --- | --- | --- | --- | --- |\n"
	if s.correct {
		text = "| correct operator | failures | test cases | per test case | duration |\n| --- | --- | --- | --- | --- |\n"
	}
	for _, r := range all {
		text += r.row()
	}
	figures := found(s, all)
	if s.correct {
		figures = failures(all)
	}
	if _, err := fmt.Fprintln(out, text); err != nil {
		return err
	}
	return report.Write(out, "–", figures)
}

// row returns the row of the table.
func (r result) row() string {
	if r.operator.Correct {
		return fmt.Sprintf("| `%s` | %s | %d | %s | %s |\n", r.operator.Name, cmp.Or(r.verdict(), "none"), r.Plans.Run, report.Seconds(r.perCase()), report.Seconds(r.all))
	}
	until := "–"
	if r.bug() != nil {
		until = fmt.Sprint(r.after())
	}
	return fmt.Sprintf("| `%s` | `%s` | %s | %s | %d | %s |\n", r.operator.Name, r.operator.Property, cmp.Or(r.verdict(), "nothing"), until, r.Plans.Run, report.Seconds(r.all))
}

// found returns the figures of operators with a bug.
func found(s settings, all []result) []report.Figure {
	var cases []int64
	var took []time.Duration
	for _, r := range all {
		if r.bug() != nil {
			cases, took = append(cases, int64(r.after())), append(took, r.all)
		}
	}
	recall := float64(len(cases)) / float64(max(len(all), 1))
	figures := []report.Figure{{
		Name:   fmt.Sprintf("bugs found with a budget of %s each", s.budget),
		Operon: fmt.Sprintf("%d of %d, %.0f %%", len(cases), len(all), 100*recall), Goal: "≥ 95 %", Met: report.Judge(recall >= recallGoal),
	}}
	if len(cases) == 0 {
		return figures
	}
	median := report.Median(cases)
	return append(figures,
		report.Figure{Name: "test cases until then, median", Operon: fmt.Sprint(median), Goal: fmt.Sprintf("≤ %d", plansGoal), Met: report.Judge(median <= plansGoal)},
		report.Within("… duration of the command, with the start of a cluster and repetitions, median", took, 0))
}

// failures returns the figures of correct operators.
func failures(all []result) []report.Figure {
	count := 0
	var each []time.Duration
	for _, r := range all {
		each = append(each, r.perCase())
		if slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Fails() }) {
			count++
		}
	}
	return []report.Figure{
		{Name: "correct operators with failures", Operon: fmt.Sprintf("%d of %d", count, len(all)), Goal: "0", Met: report.Judge(count == 0)},
		report.Within("a test case, median", each, perCaseGoal),
	}
}
