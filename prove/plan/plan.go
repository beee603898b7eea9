package plan

import (
	"github.com/operon-framework/operon/prove/fault"
	"github.com/operon-framework/operon/prove/workload"
)

// Format is that of a plan file. Another one cannot be read.
const Format = "operon-plan/1"

// Plan is one run.
type Plan struct {
	// Name tells it from others, for people: "kill after effect: create configmaps #2 | sample".
	Name string `json:"name"`
	// Why says what made it promising.
	Why string `json:"why,omitempty"`
	// Workload is what is done meanwhile, with all objects.
	Workload workload.Workload `json:"workload"`
	// Faults are what goes wrong. None: the workload alone is the test.
	Faults []fault.Fault `json:"faults,omitempty"`
}
