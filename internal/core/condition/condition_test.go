package condition_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/outcome"
)

type thing struct {
	Status struct {
		Conditions         []metav1.Condition
		ObservedGeneration int64
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   outcome.Outcome
		want []string
	}{
		{name: "done", in: outcome.Done(), want: []string{"Mine=True", "Ready=True Ready"}},
		{name: "wait", in: outcome.Wait("Pods", "m"), want: []string{"Mine=True", "Ready=False Pods", "Reconciling=True Pods"}},
		{name: "retry", in: outcome.Retry(0, "Away", "m"), want: []string{"Mine=True", "Ready=False Away", "Reconciling=True Away"}},
		{name: "stalled", in: outcome.Stalled("Bad", "m"), want: []string{"Mine=True", "Ready=False Bad", "Stalled=True Bad"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, before := range []outcome.Outcome{outcome.Done(), outcome.Wait("B", ""), outcome.Stalled("B", "")} {
				var object thing
				object.Status.Conditions = []metav1.Condition{{Type: "Mine", Status: metav1.ConditionTrue}}
				status, err := condition.Of(&object)
				if err != nil {
					t.Fatal(err)
				}
				status.Report(before, 1, time.Now())
				status.Report(test.in, 2, time.Now())
				if got := describe(object.Status.Conditions); !slices.Equal(got, test.want) {
					t.Errorf("after %v: got %q, want %q", before, got, test.want)
				}
				if object.Status.ObservedGeneration != 2 {
					t.Errorf("observedGeneration %d, want 2", object.Status.ObservedGeneration)
				}
			}
		})
	}
}

func describe(conditions []metav1.Condition) []string {
	var all []string
	for _, c := range conditions {
		all = append(all, strings.TrimSpace(c.Type+"="+string(c.Status)+" "+c.Reason))
	}
	slices.Sort(all)
	return all
}

func TestReportTellsTheTimeOfATransition(t *testing.T) {
	t.Parallel()
	var object thing
	status, err := condition.Of(&object)
	if err != nil {
		t.Fatal(err)
	}
	first := time.Unix(1, 0)
	status.Report(outcome.Done(), 1, first)
	for _, step := range []struct {
		outcome  outcome.Outcome
		at, want int64
	}{
		{outcome.Done(), 2, 1},
		{outcome.Wait("Pods", ""), 3, 3},
		{outcome.Wait("Others", ""), 4, 3},
	} {
		status.Report(step.outcome, 1, time.Unix(step.at, 0))
		if got := status.Ready().LastTransitionTime.Unix(); got != step.want {
			t.Errorf("%s at %d: the transition was at %d, want %d", step.outcome, step.at, got, step.want)
		}
	}
}

func TestOfSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		object any
		want   string
	}{
		{"no struct", new(int), "no pointer to a struct"},
		{"no status", &struct{}{}, "no field Status"},
		{"no conditions", &struct{ Status struct{} }{}, "Conditions []metav1.Condition"},
		{"no generation", &struct {
			Status struct{ Conditions []metav1.Condition }
		}{}, "ObservedGeneration int64"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := condition.Of(test.object); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// What one writer changed is repeated over what others have written since.
func TestRebase(t *testing.T) {
	t.Parallel()
	of := func(all ...string) (object thing) {
		for _, one := range all {
			kind, reason, _ := strings.Cut(one, "=True ")
			object.Status.Conditions = append(object.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason})
		}
		return object
	}
	status := func(object *thing) condition.Status {
		found, err := condition.Of(object)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	before := of("Ready=True Old", "Stalled=True Old", "Theirs=True Old", "Gone=True Old")
	own := of("Ready=True New", "Theirs=True Old", "Gone=True Old", "Paused=True New")
	latest := of("Ready=True Old", "Stalled=True Old", "Theirs=True New", "Added=True New")
	status(&own).Rebase(status(&before), status(&latest))
	if got, want := describe(own.Status.Conditions), []string{"Added=True New", "Paused=True New", "Ready=True New", "Theirs=True New"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	status(&before).Rebase(status(&before), status(&latest))
	if got, want := describe(before.Status.Conditions), describe(latest.Status.Conditions); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
