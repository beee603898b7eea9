package testplan

import (
	"slices"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Smaller returns plans with less than a plan has, the smallest first: fewer faults, a shorter
// workload, faults that strike once. Who shrinks a plan takes the first of them that still fails,
// and asks again, until there is none.
//
// Guarantees: each is less than the plan, so that it ends. A step that others refer to is
// not taken away.
func Smaller(p Plan) []Plan {
	var all []Plan
	if len(p.Faults) > few {
		for _, parts := range []int{2, 4} {
			for i := range parts {
				all = append(all, with(p, p.Workload.Steps, p.Faults[i*len(p.Faults)/parts:(i+1)*len(p.Faults)/parts]))
			}
		}
	}
	if len(p.Faults) > 1 && len(p.Faults) <= few {
		for i := range p.Faults {
			all = append(all, with(p, p.Workload.Steps, []fault.Fault{p.Faults[i]}))
		}
	}
	steps := p.Workload.Steps
	for n := 1; n < len(steps); n++ {
		if !needs(p.Faults, steps[n:]) {
			all = append(all, with(p, steps[:n], p.Faults))
		}
	}
	for i := len(steps) - 2; i > 0; i-- { // the first makes what is tested, without the last it is shorter already
		if rest := without(steps, i); rest != nil && !needs(p.Faults, steps[i:i+1]) {
			all = append(all, with(p, rest, p.Faults))
		}
	}
	if len(p.Faults) > 2 {
		for i := range p.Faults {
			all = append(all, with(p, steps, slices.Delete(slices.Clone(p.Faults), i, i+1)))
		}
	}
	for i, f := range p.Faults {
		if f.On.Times == fault.Always || f.On.Times > 1 {
			fewer := slices.Clone(p.Faults)
			fewer[i].On.Times = 1
			all = append(all, with(p, steps, fewer))
		}
	}
	return all
}

// few is how many faults are tried one by one. More are halved first, as delta debugging does.
const few = 4

// with is a plan with other steps and faults.
func with(p Plan, steps []workload.Step, faults []fault.Fault) Plan {
	p.Workload.Steps, p.Faults = slices.Clone(steps), slices.Clone(faults)
	return p
}

// needs reports whether a fault strikes in one of some steps, or goes back to the end of one.
func needs(faults []fault.Fault, steps []workload.Step) bool {
	return slices.ContainsFunc(steps, func(step workload.Step) bool {
		return slices.ContainsFunc(faults, func(f fault.Fault) bool {
			return f.On.Step == step.Name || f.Step == step.Name || f.To.Step == step.Name
		})
	})
}

// without leaves a step out. It returns nil where another one needs it: to lead back to it, to heal
// what it let fail, or to delete or change what it made.
func without(steps []workload.Step, i int) []workload.Step {
	step := steps[i]
	for _, later := range steps[i+1:] {
		if later.Same == step.Name || later.Heal && step.Fail != nil {
			return nil
		}
	}
	return slices.Delete(slices.Clone(steps), i, i+1)
}
