package prove

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/runner"
)

// withHistory returns options with a definition that declares history.
func withHistory(t *testing.T, path string) Options {
	t.Helper()
	read, err := readManifests("../api/actions/v1alpha1/crd/actions.operon.dev_actions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definitions := objects(read)
	if path != "" {
		definitions[0].SetAnnotations(map[string]string{normalize.HistoryAnnotation: path})
	}
	return Options{
		Operator: runner.Function(func(context.Context, runner.Access) error { return nil }), Config: &rest.Config{},
		CRDs: definitions, Samples: []*unstructured.Unstructured{{}},
	}
}

// The report names the fields that are not compared, according to the real definition of Actions.
func TestHistoryIsTold(t *testing.T) {
	t.Parallel()
	s, err := newSession(withHistory(t, ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "not compared in Action: status.journal.steps[*].attempts (history, declared by prove.operon.dev/history)"
	if !slices.Contains(s.report.Notes, want) {
		t.Errorf("the notes are %q", s.report.Notes)
	}
	inSetup := withHistory(t, "")
	inSetup.Setup, inSetup.CRDs = inSetup.CRDs, nil
	if s, err = newSession(inSetup, nil); err != nil || !slices.Contains(s.report.Notes, want) {
		t.Errorf("of a definition in --setup the notes are %q, %v", s.report.Notes, err)
	}
}

// If a definition declares a field as history that does not exist, nothing is tested.
func TestHistoryOfNothing(t *testing.T) {
	t.Parallel()
	found, err := Prove(t.Context(), withHistory(t, "status.journal.steps[*].tries"))
	if found != nil || err == nil || !strings.HasPrefix(err.Error(), `CustomResourceDefinition actions.actions.operon.dev: annotation prove.operon.dev/history: "status.journal.steps[*].tries" is in no version's schema`) {
		t.Errorf("it is %v", err)
	}
}
