package prove

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// chosen returns plans in the order of their execution. Sweeps come first, between plans that change fields and plans with other
// workloads; then plans with single faults take the place of sweeps.
func (s *session) chosen() []testplan.Plan {
	if s.restless() {
		s.report.Notes = append(s.report.Notes, s.unrest()+": no plan was run, as there is no state to compare with")
		return nil
	}
	sweeps := testplan.Sweeps(s.learnt, s.base)
	faulty := testplan.Of(s.learnt, s.base, testplan.Options{Seed: s.Seed, Limit: s.Plans})
	for i := range faulty {
		faulty[i] = short(faulty[i])
	}
	all := ordered(sweeps, faulty, s.changes(), plain(s.workloads()))
	s.report.Plans.Planned = len(all)
	return all[:min(len(all), s.Plans)]
}

// ordered returns all plans in the order of their execution.
func ordered(sweeps, faulty, changes, others []testplan.Plan) []testplan.Plan {
	var all []testplan.Plan
	for len(sweeps) > 0 {
		all = inTurn(all, &sweeps, &changes, &sweeps, &others, &sweeps, &changes, &sweeps)
	}
	for len(faulty)+len(changes)+len(others) > 0 {
		all = inTurn(all, &faulty, &changes, &others, &faulty, &changes)
	}
	return all
}

// inTurn moves the first plan of each list to the end of all.
func inTurn(all []testplan.Plan, lists ...*[]testplan.Plan) []testplan.Plan {
	for _, from := range lists {
		all, *from = first(all, *from)
	}
	return all
}

// changes returns plans that each change a field. If a change removes something, there is an additional plan in which the
// operator does not run at that time, and has to know what it had created.
func (s *session) changes() []testplan.Plan {
	var all, away []testplan.Plan
	for _, p := range plain(s.operations()) {
		all = append(all, p)
		if missed, takes := testplan.Away(p, s.learnt); takes {
			away = append(away, missed)
		}
	}
	return mixed(all, away)
}

// everyThird is the distance between others in a list of plans.
const everyThird = 3

// mixed returns plans with others inserted at regular intervals. The remaining ones come last.
func mixed(plans, others []testplan.Plan) []testplan.Plan {
	var all []testplan.Plan
	for i, p := range plans {
		all = append(all, p)
		if i%everyThird == everyThird-1 {
			all, others = first(all, others)
		}
	}
	return append(all, others...)
}

// restless reports whether the operator did not become silent in the first step of any run without faults.
func (s *session) restless() bool {
	return !slices.ContainsFunc(s.learnt, func(t runlog.Trace) bool {
		return len(t.Steps) > 0 && t.Steps[0].Silent
	})
}

// unrest describes why a restless operator does not become silent.
func (s *session) unrest() string {
	for _, t := range s.learnt {
		if len(t.Steps) > 0 {
			return fmt.Sprintf("the step %q is never over, without any fault (%s)", t.Steps[0].Name, t.Steps[0].Why)
		}
	}
	return "no step was begun"
}

// plain returns workloads without faults as plans.
func plain(workloads []workload.Workload) []testplan.Plan {
	var all []testplan.Plan
	for _, w := range workloads {
		all = append(all, testplan.Plan{Name: w.Name, Workload: w})
	}
	return all
}

// short returns a plan without the steps after the first deletion that follows its faults: nothing new is expected of them.
func short(p testplan.Plan) testplan.Plan {
	steps := p.Workload.Steps
	last := -1
	for _, f := range p.Faults {
		at := slices.IndexFunc(steps, func(s workload.Step) bool { return s.Name == f.On.Step })
		if at < 0 {
			return p
		}
		last = max(last, at)
	}
	for i := last + 1; i < len(steps); i++ {
		if len(steps[i].Delete) > 0 {
			p.Workload.Steps = steps[:i+1]
			break
		}
	}
	return p
}

// first moves the first of from to the end of to.
func first(to, from []testplan.Plan) (longer, rest []testplan.Plan) {
	if len(from) == 0 {
		return to, nil
	}
	return append(to, from[0]), from[1:]
}

// children returns the objects that the operator creates for the samples, without the namespaces of the runs.
func (s *session) children() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, child := range s.refs.Children() {
		child = child.DeepCopy()
		if slices.ContainsFunc(s.learnt, func(t runlog.Trace) bool { return t.Namespace == child.GetNamespace() }) {
			child.SetNamespace("")
		}
		all = append(all, child)
	}
	return all
}

// workloads returns the additional workloads, except those that change single fields.
func (s *session) workloads() []workload.Workload {
	all := slices.Clone(s.Workloads)
	children := s.children()
	if drifting := workload.WithDrift(s.base, children); len(drifting.Steps) > len(s.base.Steps) {
		drifting.Name = "drift"
		all = append(all, drifting)
	}
	failing := workload.Failing(s.base, children)
	if len(failing) > 0 { // early, because many operators report ready whatever their pods do
		all, failing = append(all, failing[0]), failing[1:]
	}
	all = append(all, workload.Around(s.Samples, s.CRDs)...)
	if stay := workload.Bystanders(children); len(stay) > 0 {
		beside := workload.WithBystanders(s.base, stay)
		beside.Name = "bystanders"
		all = append(all, beside)
	}
	return append(all, failing...)
}

// operations returns workloads that each change a field.
func (s *session) operations() []workload.Workload {
	all, err := workload.Operations(s.Samples, s.CRDs, workload.Options{Seed: uint64(s.Seed), Limit: s.Plans / 3})
	if err != nil {
		s.report.Notes = append(s.report.Notes, "some fields were not changed: "+err.Error())
	}
	return all
}
