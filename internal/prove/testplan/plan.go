package testplan

import (
	"errors"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Plan is one run.
type Plan struct {
	// Name tells it from others, for people: "kill after effect: create configmaps #2 | sample".
	Name string `json:"name"`
	// Why says what made it promising.
	Why string `json:"why,omitempty"`
	// Workload is what is done in the meantime, with all objects.
	Workload workload.Workload `json:"workload"`
	// Faults are what goes wrong. None: the workload alone is the test.
	Faults []fault.Fault `json:"faults,omitempty"`
}

// Validate returns why a plan cannot be executed: steps that are none, faults that are not possible.
func (p Plan) Validate() error {
	_, err := fault.NewScript(p.Faults...)
	return errors.Join(p.Workload.Validate(), err)
}
