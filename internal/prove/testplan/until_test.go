package testplan_test

import (
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// A plan is only cut after steps that it has, and before steps without faults.
func TestUntil(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		faultIn, until, want string
	}{
		"the last of two":         {until: "create change", want: "create change"},
		"in any order":            {until: "change create", want: "create change"},
		"the last step":           {until: "delete", want: "create change delete"},
		"no step":                 {until: "", want: "create change delete"},
		"an unknown step":         {until: "create reset", want: "create change delete"},
		"a fault in a later step": {faultIn: "delete", until: "create", want: "create change delete"},
		"a fault in an earlier":   {faultIn: "create", until: "change", want: "create change"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := testplan.Plan{Workload: workload.Workload{Steps: []workload.Step{{Name: "create"}, {Name: "change"}, {Name: "delete"}}}}
			if test.faultIn != "" {
				p.Faults = []fault.Fault{{On: fault.Match{Step: test.faultIn}}}
			}
			var got []string
			for _, step := range testplan.Until(p, strings.Fields(test.until)).Workload.Steps {
				got = append(got, step.Name)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("the steps are %v, want %s", got, test.want)
			}
			if len(p.Workload.Steps) != 3 {
				t.Error("the plan itself was changed")
			}
		})
	}
}
