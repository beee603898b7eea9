package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// References contains the results of a workload without faults. [Reference] creates it. It does not change
// afterwards and is safe for concurrent use.
type References struct {
	// Workload is the executed workload.
	Workload workload.Workload
	// Noise contains the differences between runs.
	Noise *normalize.Noise

	runs  []*run // of the workload
	base  []*run // of the workload that was run without faults
	fresh map[string]*run
	known map[string]bool             // keys of the findings without faults
	heaps map[string]bool             // kinds whose number of objects grows even without faults
	goals map[string]*normalize.State // states that steps lead to, if known
	own   map[string]bool             // objects that the operator keeps for itself
	// accepted reports whether a finding is accepted. It may be nil.
	accepted func(finding.Finding) bool
}

// Runs contains runs without faults, and what is known about them before they are compared.
type Runs struct {
	// Traces contains the runs of the workload. At least two are needed to learn what differs without faults. They have to be at least a second
	// apart, because times of Kubernetes have a resolution of one second.
	Traces []runlog.Trace
	// Fresh contains the runs of the workloads that [Fresh] returns, by the name of the step. It may be nil: then nothing is reported about them.
	Fresh map[string]runlog.Trace
	// History contains the fields that are not compared.
	History normalize.History
	// Maps contains the fields of which an empty one means the same as none.
	Maps normalize.Maps
	// Idle is a run without custom resources, or nil: the objects that the operator creates in it are its own, and nothing is reported about
	// them.
	Idle *runlog.Trace
	// Accepted reports whether a finding is accepted. Such a finding hides no other one, except in the same step if the operator cannot do its
	// work. It may be nil: then no finding is accepted.
	Accepted func(finding.Finding) bool
}

// Reference learns from runs of a workload without faults what is normal, and returns the findings that exist
// already. An error says why the operator cannot be tested with the workload.
func Reference(w workload.Workload, r Runs) (References, []finding.Finding, error) {
	refs := References{
		Workload: w, Noise: &normalize.Noise{History: r.History, Maps: r.Maps}, fresh: map[string]*run{}, known: map[string]bool{}, heaps: map[string]bool{}, accepted: r.Accepted,
	}
	if len(r.Traces) == 0 {
		return refs, nil, errors.New("there is no run without faults to compare with")
	}
	if idle := r.Idle; idle != nil && len(idle.Steps) > 0 {
		refs.own = newRun(workload.Workload{}, *idle, r.Traces, nil).state(len(idle.Steps) - 1).Own()
	}
	for _, one := range r.Traces {
		refs.runs = append(refs.runs, newRun(w, one, r.Traces, refs.own))
	}
	if err := refs.testable(); err != nil {
		return refs, nil, err
	}
	refs.base = refs.runs
	refs.learn()
	for step, one := range r.Fresh {
		refs.fresh[step] = newRun(workload.Workload{}, one, r.Traces, refs.own)
	}
	refs.goals = goals(w, &refs)
	var all []finding.Finding
	var following []map[string]bool
	for _, one := range refs.runs {
		found, follow := judge(&refs, one, nil)
		all = append(all, found...)
		following = append(following, follow)
	}
	return refs, refs.confirmed(all, following), nil
}

// For returns the references for another workload of the same operator that was not run without
// faults. The noise and the existing findings are known. fresh contains the runs of the workloads that [Fresh] returns
// for it.
func (refs References) For(w workload.Workload, fresh map[string]runlog.Trace) References {
	other := References{Workload: w, Noise: refs.Noise, fresh: map[string]*run{}, known: refs.known, heaps: refs.heaps, base: refs.base, own: refs.own, accepted: refs.accepted}
	for step, one := range fresh {
		other.fresh[step] = newRun(workload.Workload{}, one, refs.traces(), refs.own)
	}
	other.goals = goals(w, &other)
	return other
}

// Learn returns References that also know what differs between two runs of the workloads of [Fresh] without faults: what the operator only
// creates for the changed objects may be random, such as a password.
func (refs References) Learn(again map[string]runlog.Trace) References {
	refs.Noise = refs.Noise.Clone()
	for step, one := range again {
		first, second := refs.fresh[step], newRun(workload.Workload{}, one, refs.traces(), refs.own)
		if first == nil {
			continue
		}
		if a, b := first.silentState(step), second.silentState(step); a != nil && b != nil {
			refs.Noise.Learn(a, b)
		}
	}
	return refs
}

// Judge returns the findings of a run that do not occur in runs without faults.
//
// Guarantees: findings that follow from another finding are omitted. Each finding has the plan, a guess at its
// class, and the most relevant requests.
// Assumptions: the steps of the plan's workload are the steps of the references, or some of them.
func Judge(refs References, p testplan.Plan, t runlog.Trace) []finding.Finding {
	var found []finding.Finding
	all, _ := judge(&refs, newRun(p.Workload, t, refs.traces(), refs.own), &p)
	for _, one := range all {
		if !refs.known[one.Key()] && !refs.heaped(one) {
			one.Plan = &p
			found = append(found, one)
		}
	}
	return found
}

// heaped reports whether a finding reports only a different number of objects of a kind
// whose number also grows without faults.
func (refs *References) heaped(f finding.Finding) bool {
	return len(f.Diff) > 0 && !slices.ContainsFunc(f.Diff, func(d finding.Difference) bool {
		kind, _, _ := strings.Cut(d.Of, "/")
		return d.Path != "" || !refs.heaps[kind]
	})
}

// traces returns the traces of the runs without faults.
func (refs *References) traces() []runlog.Trace {
	var all []runlog.Trace
	for _, one := range refs.base {
		all = append(all, one.Trace)
	}
	return all
}

// learn learns the noise: the differences between runs at the end of each step that became silent in the compared runs.
func (refs *References) learn() {
	first := refs.runs[0]
	for _, other := range refs.runs[1:] {
		for i := range min(len(first.Steps), len(other.Steps)) {
			if first.Steps[i].Silent && other.Steps[i].Silent {
				refs.Noise.Learn(first.state(i), other.state(i))
			}
		}
	}
}

// confirmed returns the findings without duplicates. A finding that does not occur in all runs is flaky. following contains the keys of
// the findings of each run that only follow from others: what follows in all runs is no finding of a run with faults either.
func (refs *References) confirmed(all []finding.Finding, following []map[string]bool) []finding.Finding {
	for key := range following[0] {
		refs.known[key] = !slices.ContainsFunc(following, func(keys map[string]bool) bool { return !keys[key] })
	}
	times := map[string]int{}
	var found []finding.Finding
	for _, one := range all {
		if times[one.Key()]++; times[one.Key()] == 1 {
			found = append(found, one)
		}
		refs.known[one.Key()] = true
	}
	for i := range found {
		one := &found[i]
		one.Flaky = times[one.Key()] < len(refs.runs)
		if one.Property == finding.Bounded && one.Of != nil && !one.Flaky {
			refs.heaps[one.Of.Kind] = true
		}
	}
	return found
}

// testable returns an error with the reason if the operator cannot be tested.
func (refs *References) testable() error {
	for _, one := range refs.runs {
		for i, step := range one.Steps {
			if step.Refused != "" && !one.does(i).Refused {
				return fmt.Errorf("the API server rejected the step %q without any fault: %s", step.Name, step.Refused)
			}
		}
		if err := one.works(); err != nil {
			return err
		}
	}
	return nil
}

// works returns an error with the reason if a run does not show an operator at work.
func (r *run) works() error {
	var asked, acted bool
	for i := range r.Requests {
		one := &r.Requests[i]
		asked = asked || one.Resource != ""
		acted = acted || changed(one)
	}
	if len(r.Beside) > 0 {
		return fmt.Errorf("a client with the operator's field manager bypasses the proxy: it wrote %s; "+
			"either the operator has other credentials than those in $KUBECONFIG, or another instance of it runs in the cluster", strings.Join(r.Beside, ", "))
	}
	if acted {
		return nil
	}
	for _, exit := range r.Exits {
		if !exit.Asked {
			return notStarted(exit)
		}
	}
	if !asked {
		return errors.New("the operator sent no requests to the proxy: it must use $KUBECONFIG or the in-cluster configuration")
	}
	idle := "the operator changed nothing in any step: " + cmp.Or(r.denied(), "does it watch this namespace and these kinds?")
	if len(r.Exits) > 0 {
		idle += "; it logged last" + cmp.Or(lastWords(r.Exits[0]), " nothing")
	}
	return errors.New(idle)
}

// denied describes which requests the API server rejected because of missing permissions. It returns "" if it rejected none.
func (r *run) denied() string {
	var all []string
	for i := range r.Requests {
		one := &r.Requests[i]
		what := fmt.Sprintf("%s %s", one.Verb, one.Target())
		if one.Group != "" {
			what += " of " + one.Group
		}
		if one.Served == http.StatusForbidden && !slices.Contains(all, what) {
			all = append(all, what)
		}
	}
	if len(all) == 0 {
		return ""
	}
	more := ""
	if n := len(all) - maxDenied; n > 0 {
		all, more = all[:maxDenied], fmt.Sprintf(" and %d more", n)
	}
	return "it is not permitted to " + strings.Join(all, ", ") + more + " (grant it in its Roles)"
}

// maxDenied is the maximum number of permissions that a message names.
const maxDenied = 5

// notStarted returns an error for an operator that exited before it wrote anything. It says how it exited and what may help.
func notStarted(exit runlog.Exit) error {
	words, usage := lastWords(exit), runlog.Usage(exit.Log)
	switch {
	case usage != "":
		return fmt.Errorf("the operator exited %s and printed its usage; correct its flags:\n%s", how(exit), usage)
	case exit.PortTaken():
		return fmt.Errorf("the operator cannot start because its port is in use; write {port} in its command for a free port%s", words)
	case strings.Contains(words, "serving-certs"), strings.Contains(words, "tls.crt"):
		return fmt.Errorf("the operator cannot start without a webhook certificate; webhooks are not called here, so start it without them (ENABLE_WEBHOOKS=false is set)%s", words)
	}
	return fmt.Errorf("the operator exited %s before it wrote anything%s (use --setup for objects that must exist before it starts)", how(exit), words)
}

// Fresh returns a workload with one step for each step that is compared with a fresh namespace. The
// workload creates all objects at once, as they are after the step.
func Fresh(w workload.Workload) map[string]workload.Workload {
	all := map[string]workload.Workload{}
	var there []*unstructured.Unstructured
	for _, step := range w.Steps {
		there = slices.DeleteFunc(there, func(object *unstructured.Unstructured) bool {
			return slices.ContainsFunc(step.Delete, func(ref workload.Ref) bool { return isOf(ref, object) })
		})
		if !step.Refused {
			there = laid(there, step.Apply)
		}
		if step.Fresh {
			all[step.Name] = workload.Workload{
				Name:  w.Name + ": fresh " + step.Name,
				Steps: []workload.Step{{Name: step.Name, Apply: slices.Clone(there)}},
			}
		}
	}
	return all
}

// laid returns the objects with other objects added, or put in the place of objects with the same kind, namespace and name.
func laid(there, over []*unstructured.Unstructured) []*unstructured.Unstructured {
	there = slices.Clone(there)
	for _, object := range over {
		i := slices.IndexFunc(there, func(one *unstructured.Unstructured) bool {
			return one.GroupVersionKind().GroupKind() == object.GroupVersionKind().GroupKind() &&
				one.GetName() == object.GetName() && one.GetNamespace() == object.GetNamespace()
		})
		if i < 0 {
			there = append(there, object)
			continue
		}
		there[i] = object
	}
	return there
}
