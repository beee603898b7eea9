package prove

import (
	"slices"
	"testing"

	"github.com/operon-framework/operon/internal/prove/workload"
)

// The runs with which a repeated plan is compared have the same steps as the plan, and no further ones.
func TestAsFarAs(t *testing.T) {
	t.Parallel()
	steps := func(names ...string) workload.Workload {
		w := workload.Workload{Name: "sample"}
		for _, name := range names {
			w.Steps = append(w.Steps, workload.Step{Name: name})
		}
		return w
	}
	whole := steps("create", "change", "delete", "recreate")
	for name, c := range map[string]struct{ plan, want workload.Workload }{
		"the same":           {whole, whole},
		"cut short":          {steps("create", "change"), steps("create", "change")},
		"another change":     {steps("create", "other change", "delete"), steps("create", "change", "delete")},
		"nothing in common":  {steps("bystanders"), steps("create")},
		"nothing to do":      {steps(), steps("create")},
		"a change of itself": {steps("create", "other change"), steps("create")},
	} {
		if got := asFarAs(whole, c.plan); !slices.EqualFunc(got.Steps, c.want.Steps, func(a, b workload.Step) bool { return a.Name == b.Name }) {
			t.Errorf("%s: %v, want %v", name, got.Steps, c.want.Steps)
		}
	}
}
