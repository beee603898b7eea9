package prove

import (
	"strings"
	"testing"

	"github.com/operon-framework/operon/prove/fault"
	"github.com/operon-framework/operon/prove/plan"
	"github.com/operon-framework/operon/prove/workload"
)

func TestShort(t *testing.T) {
	t.Parallel()
	gone := []workload.Ref{{Kind: "Box", Name: "one"}}
	steps := []workload.Step{{Name: "create"}, {Name: "change"}, {Name: "delete", Delete: gone}, {Name: "recreate"}, {Name: "delete again", Delete: gone}}
	for faults, want := range map[string]string{
		"":              "create, change, delete",
		"create":        "create, change, delete",
		"create change": "create, change, delete",
		"delete":        "create, change, delete, recreate, delete again",
		"recreate":      "create, change, delete, recreate, delete again",
		"delete again":  "create, change, delete, recreate, delete again",
		"elsewhere":     "create, change, delete, recreate, delete again",
	} {
		p := plan.Plan{Workload: workload.Workload{Steps: steps}}
		names := strings.Fields(faults)
		if faults == "delete again" {
			names = []string{faults}
		}
		for _, name := range names {
			p.Faults = append(p.Faults, fault.Fault{On: fault.Match{Step: name}})
		}
		var left []string
		for _, step := range short(p).Workload.Steps {
			left = append(left, step.Name)
		}
		if got := strings.Join(left, ", "); got != want {
			t.Errorf("%q: %s", faults, got)
		}
	}
}
