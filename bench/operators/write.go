package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/operon-framework/operon/internal/prove/finding"
)

// write prints the results as Markdown tables: the figures of each operator, and its findings with their explanations.
func write(out io.Writer, results []result) error {
	var figures, findings strings.Builder
	for _, r := range results {
		failures, notes := 0, 0
		for _, f := range r.Findings {
			if f.Level == finding.Note {
				notes++
			} else {
				failures++
			}
			fmt.Fprintf(&findings, "| %s | %s | %s | %s |\n", r.operator.name, f.Property, words(f), cmp.Or(f.Accepted, "not looked at"))
		}
		fmt.Fprintf(&figures, "| %s %s | %d | %.1f | %d | %d |\n", r.operator.name, r.operator.version, r.Plans.Run, perMinute(r), failures, notes)
	}
	_, err := fmt.Fprintf(out, "| operator | test cases | a minute | failures | notes |\n| --- | --- | --- | --- | --- |\n%s\n"+
		"| operator | invariant | finding | what a person found |\n| --- | --- | --- | --- |\n%s", &figures, &findings)
	return err
}

// perMinute returns the number of test cases per minute of the whole session, including the runs without faults.
func perMinute(r result) float64 { return float64(r.Plans.Run) / max(r.Took.Minutes(), 1.0/60) }

func words(f finding.Finding) string {
	text := strings.NewReplacer("|", `\|`, "\n", " ").Replace(f.Text())
	if f.Of != nil {
		text = f.Of.Kind + ": " + text
	}
	if f.Flaky {
		text += " (flaky)"
	}
	if f.Level == finding.Note {
		text += " (note)"
	}
	return text
}
