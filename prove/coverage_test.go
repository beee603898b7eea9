package prove

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

func definitionOf(group, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "CustomResourceDefinition", "spec": map[string]any{"group": group, "names": map[string]any{"kind": kind}},
	}}
}

func TestUnsampled(t *testing.T) {
	t.Parallel()
	s := &session{Options: Options{
		CRDs:    []*unstructured.Unstructured{definitionOf("test.operon.dev", "Thing"), definitionOf("test.operon.dev", "Other"), definitionOf("else.operon.dev", "Thing")},
		Samples: []*unstructured.Unstructured{thing("one", "", "")},
	}}
	if notes := strings.Join(s.unsampled(), "; "); notes != "no sample of Other, Thing: what the operator does for them is not tested" {
		t.Errorf("the notes are %q", notes)
	}
	s.CRDs = s.CRDs[:1]
	if notes := s.unsampled(); len(notes) > 0 {
		t.Errorf("all kinds have a sample, and the notes are %q", notes)
	}
}

func TestTooShort(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for name, test := range map[string]struct {
		plans    report.Plans
		replayed *File
		failed   error
		found    map[string]*finding.Finding
		want     string
	}{
		"no test case":       {report.Plans{Planned: 9, Skipped: 9}, nil, nil, nil, "within the budget of 1s; the runs without faults, which come first and are not part of it, took 12s"},
		"one test case":      {report.Plans{Planned: 9, Run: 1}, nil, nil, nil, ""},
		"void test cases":    {report.Plans{Planned: 9, Run: 2, Void: 2}, nil, nil, nil, "no fault was injected"},
		"mostly aborted":     {report.Plans{Planned: 9, Run: 2, Aborted: 3}, nil, nil, nil, "of 5 test cases, 3 could not be completed"},
		"one aborted":        {report.Plans{Planned: 9, Run: 2, Aborted: 1}, nil, nil, nil, ""},
		"aborted test cases": {report.Plans{Planned: 9, Aborted: 1}, nil, nil, nil, "of 1 test cases, 1 could not be completed: no memory is left"},
		"one that counts":    {report.Plans{Planned: 9, Run: 2, Void: 1}, nil, nil, nil, ""},
		"nothing was chosen": {report.Plans{}, nil, nil, nil, ""},
		"a replay":           {report.Plans{Planned: 1}, &File{}, nil, nil, ""},
		"interrupted":        {report.Plans{Planned: 9}, nil, errors.New("interrupted"), nil, ""},
		"failures anyway":    {report.Plans{Planned: 9}, nil, nil, map[string]*finding.Finding{"": {}}, ""},
	} {
		s := &session{Options: Options{Budget: time.Second}, until: began.Add(13 * time.Second), replayed: test.replayed, found: test.found}
		s.report.Started, s.report.Plans, s.report.Runs = began, test.plans, []report.Run{{Verdict: report.Aborted, Problem: "no memory is left"}}
		err := s.tooShort(test.failed)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Samples that refer to each other are created in the order of the file. An operator that waits for the other one converges in
// any order.
func TestSamplesThatDependOnEachOther(t *testing.T) {
	skipRaced(t)
	t.Parallel()
	operator, err := operators.Find("ok-app")
	if err != nil {
		t.Fatal(err)
	}
	test := galleryTest(operator)
	test.Samples = "testdata/dependent.yaml"
	test.Plans, test.Budget = 4, time.Minute
	if seen := test.prove(t); seen.Failures() > 0 || seen.Plans.Run == 0 {
		t.Errorf("in %d plans there is found:\n%s", seen.Plans.Run, textOf(t, seen))
	}
}
