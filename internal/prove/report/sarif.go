package report

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/tools/sarif"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// SARIF writes a result for each finding, in the Static Analysis Results Interchange Format 2.1.0,
// for code scanning. The locations of a result are the plan file that replays it, and its object. Results of
// two reports with the same fingerprint are the same finding. The level of flaky findings is note.
func SARIF(w io.Writer, r Report) error {
	r = Redact(r)
	run := sarif.Run{Tool: "operon prove", ID: "operon-prove/", Columns: "utf16CodeUnits"}
	var files []string
	for i := range r.Findings {
		f := &r.Findings[i]
		about := about(f.Property)
		rule, level := ruleOf(&about), about.level
		if !slices.ContainsFunc(run.Rules, func(known sarif.Rule) bool { return known.ID == rule.ID }) {
			run.Rules = append(run.Rules, rule)
		}
		if f.Flaky || f.Level == finding.Note {
			level = sarif.Note
		}
		if file := terminal.Clean(f.File); file != "" && !slices.Contains(files, file) {
			files = append(files, file)
		}
		run.Results = append(run.Results, sarif.Result{
			Suppressed: terminal.Clean(f.Accepted),
			Rule:       rule.ID, Level: level, Message: messageOf(f), Key: f.Key(), Locations: locations(f),
			Properties: sarif.Object{"class": terminal.Clean(string(f.Class)), "flaky": f.Flaky},
		})
	}
	artifacts := []sarif.Object{}
	for _, file := range files {
		artifacts = append(artifacts, sarif.Object{"location": sarif.File(file)})
	}
	run.More = sarif.Object{"artifacts": artifacts, "invocations": []sarif.Object{{
		"executionSuccessful": !r.Interrupted,
		"startTimeUtc":        r.Started.UTC().Format(time.RFC3339), "endTimeUtc": r.Started.Add(r.Took).UTC().Format(time.RFC3339),
	}}}
	return run.Write(w)
}

func ruleOf(p *property) sarif.Rule {
	return sarif.Rule{
		ID: terminal.Clean(string(p.id)), Short: terminal.Clean(p.title), Full: strings.TrimSpace(upper(terminal.Clean(p.broken)) + ". " + p.means),
		Help: strings.TrimSpace(terminal.Clean(p.title) + ". " + p.means + " " + p.advice), Level: p.level,
		Tags: []string{"kubernetes", "operator", "reliability"},
	}
}

// messageOf describes a finding in a few sentences.
func messageOf(f *finding.Finding) string {
	text := terminal.Clean(short(f.Text(), shown)) + "."
	for _, one := range faultsOf(f) {
		text += " Fault: " + one + "."
	}
	if f.File != "" {
		text += " Replay: " + ReplayCommand(f.File)
	}
	return text
}

// locations returns the plan file and the object as a location.
func locations(f *finding.Finding) []sarif.Object {
	location := sarif.Object{}
	if f.File != "" {
		location["physicalLocation"] = sarif.Physical(terminal.Clean(f.File), sarif.Object{"startLine": 1})
	}
	if f.Of != nil {
		kind := terminal.Clean(f.Of.Kind)
		full := strings.Trim(terminal.Clean(f.Of.APIVersion)+"/"+kind, "/")
		location["logicalLocations"] = []sarif.Object{{"name": kind, "fullyQualifiedName": full, "kind": "object"}}
	}
	if len(location) == 0 {
		return nil
	}
	return []sarif.Object{location}
}
