package prove

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// unsampled returns a note if there are CRDs without a sample: the operator's work for these kinds is not tested.
func (s *session) unsampled() []string {
	var kinds []string
	for _, definition := range s.CRDs {
		if kind := kindOf(definition); kind.Kind != "" && !s.sampled(definition) {
			kinds = append(kinds, kind.Kind)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	slices.Sort(kinds)
	return []string{"no sample of " + strings.Join(kinds, ", ") + ": what the operator does for them is not tested"}
}

// sampled reports whether there is a sample of the kind of a CRD.
func (s *session) sampled(definition *unstructured.Unstructured) bool {
	return slices.ContainsFunc(s.Samples, func(sample *unstructured.Unstructured) bool {
		return sample.GroupVersionKind().GroupKind() == kindOf(definition)
	})
}

// kindOf returns the kind that a CRD defines.
func kindOf(definition *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// tooShort returns an error if no fault was injected within the budget, or most test cases could not be completed, and nothing failed without faults:
// the report would look like success.
func (s *session) tooShort(failed error) error {
	plans := s.report.Plans
	switch {
	case failed != nil || s.replayed != nil || plans.Planned == 0 || s.failed():
		return nil
	case plans.Aborted > plans.Run:
		return fmt.Errorf("of %d test cases, %d could not be completed: %s", plans.Run+plans.Aborted, plans.Aborted, s.report.Problem())
	case plans.Run > plans.Void:
		return nil
	case plans.Run > 0:
		return fmt.Errorf("no fault was injected: what the test cases that were started within the budget of %s (%d) should disturb did not happen in them",
			s.Budget, plans.Run)
	}
	return fmt.Errorf("no test case was started within the budget of %s; the runs without faults, which come first and are not part of it, took %s",
		s.Budget, s.until.Add(-s.Budget).Sub(s.report.Started).Round(time.Second))
}
