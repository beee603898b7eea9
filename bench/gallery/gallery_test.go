package main

import (
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/finding"
	results "github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	if chosen, err := choose(settings{only: "half-made,wedged"}); err != nil || len(chosen) != 2 {
		t.Errorf("%v, %v", chosen, err)
	}
	if _, err := choose(settings{only: "half-made", correct: true}); err == nil || !strings.Contains(err.Error(), `no such operator with --correct=true: "half-made"`) {
		t.Error(err)
	}
	if all, err := choose(settings{correct: true}); err != nil || len(all) < 20 {
		t.Errorf("%d correct operators, %v", len(all), err)
	}
}

// A bug counts as found if a failure is about its invariant, and not by a flaky finding or a note. Unused permissions are always a note.
func TestWrite(t *testing.T) {
	t.Parallel()
	of := func(name string, runs int, found ...finding.Finding) result {
		r := result{operator: operators.Operator{Name: name, Property: finding.SameState}, all: 30 * time.Second}
		r.Findings, r.Plans.Run = found, runs
		for i := range runs {
			run := results.Run{}
			if i == 2 && len(found) > 0 {
				run.Findings = []string{found[0].Key()}
			}
			r.Runs = append(r.Runs, run)
		}
		return r
	}
	all := []result{
		of("found", 5, finding.Finding{Property: finding.SameState, Message: "a"}),
		of("flaky", 5, finding.Finding{Property: finding.SameState, Message: "b", Flaky: true}),
		of("noted", 5, finding.Finding{Property: finding.SameState, Message: "c", Level: finding.Note}),
		of("other", 5, finding.Finding{Property: finding.Silent, Message: "d"}),
		of("missed", 5),
	}
	unused := of("unused", 5, finding.Finding{Property: finding.Needed, Message: "e", Level: finding.Note})
	unused.operator.Property = finding.Needed
	all = append(all, unused)
	var out strings.Builder
	if err := write(&out, settings{budget: time.Minute}, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `found` | `same-state` | same-state | 3 | 5 | 30.00 s |", "| `flaky` | `same-state` | same-state (flaky) | – | 5 | 30.00 s |",
		"| `noted` | `same-state` | nothing | – | 5 | 30.00 s |", "| `other` | `same-state` | silent | – | 5 | 30.00 s |", "2 of 6, 33 %",
		"| `unused` | `needed` | needed | 5 | 5 | 30.00 s |", "| ≥ 95 % | no |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in\n%s", want, &out)
		}
	}
}

func TestWriteOfCorrectOperators(t *testing.T) {
	t.Parallel()
	good := result{operator: operators.Operator{Name: "good", Correct: true}, all: time.Minute}
	good.Plans.Run, good.Took = 60, 30*time.Second
	bad := good
	bad.operator.Name, bad.Findings = "bad", []finding.Finding{{Property: finding.Silent, Message: "a"}}
	var out strings.Builder
	if err := write(&out, settings{correct: true}, []result{good, bad}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| `good` | none | 60 | 500 ms | 60.00 s |", "| `bad` | silent | 60 |", "1 of 2", "| a test case, median | 500 ms |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in\n%s", want, &out)
		}
	}
}
