package oracle

import (
	"cmp"
	"slices"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/testplan"
)

// Check is a property and the function that checks it.
type Check struct {
	// Property is the property that has to hold.
	Property finding.Property
	// Says is a sentence that states the property.
	Says string
	// Explains contains the properties whose findings follow from a finding of this property, from the same step on.
	Explains []finding.Property

	judge func(*moment) []finding.Finding
}

// ofState contains the properties of a state. Any earlier bug also shows in the state.
var ofState = []finding.Property{
	finding.Truthful, finding.NothingLeft, finding.Restored, finding.SameFresh, finding.SameState, finding.Refusing, finding.Bounded,
}

// unfinished contains the properties whose findings follow if an operator cannot do its work.
var unfinished = append([]finding.Property{finding.Silent, finding.Deletable}, ofState...)

// Checks returns the checks of all properties. Properties that explain others come first. Package rbacusage checks that
// each granted permission is needed.
func Checks() []Check {
	return []Check{
		{finding.Alive, "The operator does not exit on its own and never panics.", unfinished, alive},
		{finding.Permitted, "No permission is missing.", unfinished, permitted},
		{finding.Deletable, "Deletions finish; no finalizer stays.", append([]finding.Property{finding.Silent}, ofState...), deletable},
		{finding.Bounded, "The number of objects and events does not keep growing.", append([]finding.Property{finding.Silent}, ofState...), bounded},
		{finding.Silent, "A quiescent operator writes nothing.", ofState, silent},
		{finding.NothingForeign, "The operator neither changes nor deletes objects of other owners.", []finding.Property{finding.SameState, finding.SameFresh}, foreign},
		{finding.DataKept, "Data-bearing objects are deleted or recreated only if that also happens without faults.", ofState, dataKept},
		{finding.Truthful, "The status describes the current generation, and Ready is true only if the children are ready.", nil, truthful},
		{finding.SameState, "Faults have no lasting effect: the final state is the same as without them.", ofState, sameState},
		{finding.NothingLeft, "Deleting an object removes everything that was created for it.", []finding.Property{finding.NothingLeft, finding.SameFresh, finding.Bounded}, nothingLeft},
		{finding.Restored, "The operator reverts drift: changes to and deletions of its children by others.", []finding.Property{finding.SameFresh}, restored},
		{finding.SameFresh, "A changed object leads to the same state as a new object with that content, and reverting the change restores the previous state.", []finding.Property{finding.SameFresh}, sameFresh},
		{finding.Refusing, "Invalid values are rejected or reported, and do no harm.", nil, refusing},
		{finding.Silent, "A quiescent operator reads little.", nil, restless},
	}
}

// judge returns the findings of a run, and the keys of those that only follow from them. The plan is nil for a run that is itself a
// reference.
func judge(refs *References, r *run, p *testplan.Plan) (found []finding.Finding, follow map[string]bool) {
	follow = map[string]bool{}
	explained := map[finding.Property]bool{}
	for i := range r.Steps {
		m := &moment{refs: refs, run: r, i: i, step: r.Steps[i], does: r.does(i)}
		if p != nil {
			m.faults = faults(p, r)
			m.compareWith(refs)
		}
		if m.step.Refused != "" && m.does.Drift != nil {
			continue // nothing has changed
		}
		if m.step.Refused != "" && !m.does.Refused {
			return found, follow // a step that was not executed cannot be judged, nor can the steps after it
		}
		now := map[finding.Property]bool{} // explained in this step only
		for _, check := range Checks() {
			for _, one := range check.judge(m) {
				if explained[one.Property] || now[one.Property] || repeats(found, one) || explainedBy(found, one) {
					follow[one.Key()] = true
					continue
				}
				one.Step = cmp.Or(one.Step, m.step.Name)
				one.Class = cmp.Or(one.Class, class(one, m.faults))
				one.Last = tellingRequests(m, one)
				found = append(found, one)
				switch {
				case one.Level == finding.Note, one.Declined != "", p != nil && refs.known[one.Key()]:
					// a note does not explain a failure, nor does what also happens without faults, where the states were compared, too
				case refs.accepts(one):
					if check.Property == finding.Alive || check.Property == finding.Permitted {
						mark(now, check.Explains) // the operator could not finish this step
					}
				default:
					mark(explained, check.Explains)
				}
			}
		}
	}
	return found, follow
}

func (refs *References) accepts(f finding.Finding) bool {
	return refs.accepted != nil && refs.accepted(f)
}

func mark(explained map[finding.Property]bool, properties []finding.Property) {
	for _, one := range properties {
		explained[one] = true
	}
}

// faults returns the faults that may be the cause: the injected faults, or all faults of the plan if none was injected.
func faults(p *testplan.Plan, r *run) []fault.Fault {
	if len(r.Struck) > 0 {
		return r.Struck
	}
	return p.Faults
}

// repeats reports whether an equal finding was found before.
func repeats(found []finding.Finding, one finding.Finding) bool {
	return slices.ContainsFunc(found, func(other finding.Finding) bool { return other.Key() == one.Key() })
}

// explainedBy reports whether a state differs only in the status of an object, and that status was already reported as
// false, or only in what was already reported as drift that is not reverted.
func explainedBy(found []finding.Finding, one finding.Finding) bool {
	if one.Property != finding.SameState && one.Property != finding.SameFresh {
		return false
	}
	return slices.ContainsFunc(found, func(other finding.Finding) bool {
		return !slices.ContainsFunc(one.Diff, func(d finding.Difference) bool {
			switch other.Property {
			case finding.Truthful:
				return d.Of != other.Of.Kind+"/"+other.Of.Name || !isStatus(d.Path)
			case finding.Restored:
				return !slices.ContainsFunc(other.Diff, func(known finding.Difference) bool { return known.Of == d.Of && known.Path == d.Path })
			}
			return true
		})
	})
}
