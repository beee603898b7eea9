package testplan

import (
	"slices"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// Smaller returns plans that are smaller than a plan, the smallest first: with fewer faults, with fewer changed fields, with a shorter
// workload, or with faults that are injected once. To shrink a plan, a caller takes the first of them that still fails
// and calls Smaller again, until none fails.
//
// Guarantees: each plan is smaller than the original, so that shrinking ends. A step that others refer to is
// not removed.
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
	for _, half := range workload.Halves(p.Workload) {
		smaller := p
		smaller.Workload = half
		all = append(all, smaller)
	}
	steps := p.Workload.Steps
	for n := 1; n < len(steps); n++ {
		if !needs(p.Faults, steps[n:]) {
			all = append(all, with(p, steps[:n], p.Faults))
		}
	}
	for i := len(steps) - 2; i > 0; i-- { // the first step creates the objects under test, and plans without the last step already exist
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

// Until returns a plan that ends after the last of some steps. It returns the plan itself if it lacks one of them, or if a fault
// needs the steps that follow.
func Until(p Plan, names []string) Plan {
	steps, last := p.Workload.Steps, -1
	for _, name := range names {
		at := slices.IndexFunc(steps, func(one workload.Step) bool { return one.Name == name })
		if at < 0 {
			return p
		}
		last = max(last, at)
	}
	if last < 0 || needs(p.Faults, steps[last+1:]) {
		return p
	}
	return with(p, steps[:last+1], p.Faults)
}

// few is the maximum number of faults that are tried one by one. More faults are first halved, as in delta debugging.
const few = 4

// with returns a plan with other steps and faults.
func with(p Plan, steps []workload.Step, faults []fault.Fault) Plan {
	p.Workload.Steps, p.Faults = slices.Clone(steps), slices.Clone(faults)
	return p
}

// needs reports whether a fault is injected in one of the steps, or goes back to one of them.
func needs(faults []fault.Fault, steps []workload.Step) bool {
	return slices.ContainsFunc(steps, func(step workload.Step) bool {
		return slices.ContainsFunc(faults, func(f fault.Fault) bool {
			return f.On.Step == step.Name || f.Step == step.Name || f.To.Step == step.Name
		})
	})
}

// without returns the steps without one step. It returns nil if a later step needs it: if that step leads back to it, or
// heals its failure.
func without(steps []workload.Step, i int) []workload.Step {
	step := steps[i]
	for _, later := range steps[i+1:] {
		if later.Same == step.Name || later.Heal && step.Fail != nil {
			return nil
		}
	}
	return slices.Delete(slices.Clone(steps), i, i+1)
}
