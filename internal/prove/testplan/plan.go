package testplan

import (
	"errors"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Plan describes one run.
type Plan struct {
	// Name distinguishes the plan from others, for people: "kill after effect: create configmaps #2 | sample".
	Name string `json:"name"`
	// Why is the reason why the plan is promising.
	Why string `json:"why,omitempty"`
	// Workload contains the steps that are executed, with all objects.
	Workload workload.Workload `json:"workload"`
	// Faults contains the faults to inject. If it is empty, only the workload is tested.
	Faults []fault.Fault `json:"faults,omitempty"`
}

// Validate returns an error if a plan cannot be executed because its steps or faults are not valid.
func (p Plan) Validate() error {
	_, err := fault.NewScript(p.Faults...)
	return errors.Join(p.Workload.Validate(), err)
}
