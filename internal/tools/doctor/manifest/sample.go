package manifest

import (
	"context"
	"strings"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var sampleInvalid = &rule.Rule{
	Name: "sample-invalid", Severity: rule.Error,
	About:  "A sample that the API server rejects, or from which it drops a field.",
	Reason: "Samples are the first thing that users try, and tests start with them.",
	Fix:    "change the sample to match the CRD, or fix the CRD",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, sample := range s.Samples {
			kind := sample.GroupVersionKind()
			for _, d := range s.Definitions {
				if d.Typed.Spec.Group != kind.Group || d.Kind() != kind.Kind {
					continue
				}
				verdict, err := crdcompat.Judge(context.Background(), d.Typed, sample.Unstructured)
				if err != nil {
					found.Add(rule.At(sample, "apiVersion"), "%s: %v", sample.GetName(), err)
					continue
				}
				for _, field := range verdict.Unknown {
					reportIn(found, sample, field, "the field %s is not known, and dropped", field)
				}
				for _, problem := range verdict.Wrong {
					reportIn(found, sample, problem.Field, "%s", strings.TrimSpace(problem.Error()))
				}
			}
		}
	},
}
