package normalize_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/normalize"
)

// journaled is the definition of a kind with a journal in its status, declared as history.
func journaled(t testing.TB, kind, history string) *unstructured.Unstructured {
	t.Helper()
	definition := object(t, `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boxes.example.com"}, "spec": {
		"group": "example.com", "names": {"kind": "`+kind+`"}, "versions": [
			{"name": "v1alpha1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}},
			{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {
				"spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
				"status": {"type": "object", "properties": {
					"runs": {"type": "integer"},
					"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
					"steps": {"type": "array", "items": {"type": "object", "properties": {"attempts": {"type": "integer"}}}},
					"hosts": {"type": "object", "additionalProperties": {"type": "object", "properties": {"seen": {"type": "array", "items": {"type": "string"}}}}}
				}}}}}}]}}`, nil)
	definition.SetAnnotations(map[string]string{normalize.HistoryAnnotation: history})
	return definition
}

func TestHistoryIsNotCompared(t *testing.T) {
	t.Parallel()
	status := func(text string) *normalize.State {
		return of(object(t, `{"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "x"}, "status": `+text+`}`, map[string]string{"op": `{"f:status": {}}`}))
	}
	first := status(`{"runs": 1, "runsLeft": 3, "free": {"a": {"b": 1}}, "steps": [{"name": "pause", "attempts": 1, "attemptsLeft": 1}],
		"hosts": {"a": {"seen": ["r"]}, "b.c": {"seen": ["r"]}, "d": {"seen": []}}}`)
	then := status(`{"runs": 2, "runsLeft": 2, "free": {"a": {"b": 2}}, "steps": [{"name": "pause", "attempts": 2, "attemptsLeft": 0}],
		"hosts": {"a": {"seen": ["r", "s"]}, "b.c": {"seen": ["s"]}, "d": {"seen": ["s"]}}}`)
	history, err := normalize.HistoryOf(journaled(t, "Box", "status.runs, status.free.a,status.steps[*].attempts,\n status.hosts[*].seen"))
	if err != nil {
		t.Fatal(err)
	}
	want := `Box/x status.runsLeft: 3 → 2; Box/x status.steps[pause].attemptsLeft: 1 → 0`
	if got := diff(first, then, &normalize.Noise{History: history}); !strings.HasPrefix(got, want) || strings.Contains(got, "hosts") || strings.Contains(got, "free") {
		t.Errorf("it differs in %q, want %q", got, want)
	}
	other, err := normalize.HistoryOf(journaled(t, "Crate", "status.runs"))
	if err != nil {
		t.Fatal(err)
	}
	if got := diff(status(`{"runs": 1}`), status(`{"runs": 2}`), &normalize.Noise{History: other}); got != "Box/x status.runs: 1 → 2" {
		t.Errorf("by what another kind declares it differs in %q", got)
	}
	revision := func(n string) *normalize.State {
		return status(`{"deployedRelease": {"name": "x", "revision": ` + n + `}}`)
	}
	if got := diff(revision("1"), revision("2"), &normalize.Noise{}); got != "" {
		t.Errorf("by the revision of a chart it differs in %q", got)
	}
	words := history.Words()
	if len(words) != 1 || words[0] != "not compared in Box: status.runs, status.free.a, status.steps[*].attempts, status.hosts[*].seen (history, declared by prove.operon.dev/history)" {
		t.Errorf("it is said in %q", words)
	}
}

func TestHistoryThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for declared, want := range map[string]string{
		"spec.size":             `"spec.size" is not of the status: what is asked for is never history`,
		"metadata.annotations":  `"metadata.annotations" is not of the status`,
		"statuses.x":            `"statuses.x" is not of the status`,
		"status":                `"status" is the whole status`,
		"status[*]":             `"status[*]" is the whole status`,
		"":                      "it holds an empty path",
		"status.runs,":          "it holds an empty path",
		"status.steps[0].name":  `"status.steps[0].name" cannot be read`,
		"status..runs":          `"status..runs" cannot be read`,
		"status.run":            `"status.run" is in no version's schema`,
		"status.steps.attempts": `"status.steps.attempts" is in no version's schema ([*] stands for each element of a list or a map)`,
		"status.runs[*]":        `"status.runs[*]" is in no version's schema`,
		"status.hosts[*].unsee": `"status.hosts[*].unsee" is in no version's schema`,
	} {
		_, err := normalize.HistoryOf(journaled(t, "Box", declared))
		if want := "CustomResourceDefinition boxes.example.com: annotation prove.operon.dev/history: " + want; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: it is %v, want %s", declared, err, want)
		}
	}
	if _, err := normalize.HistoryOf(journaled(t, "Box", "spec.size,status.run")); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("of two, it is %v", err)
	}
	if history, err := normalize.HistoryOf(box(t, "x", nil)); err != nil || len(history.Words()) != 0 {
		t.Errorf("of no definition it is %v, %v", history, err)
	}
}
