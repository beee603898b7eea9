package workload

import (
	"errors"
	"fmt"
	"slices"
)

// Failures of children that are not failures of a single pod.
const (
	// LostNode makes pods not ready, because their node no longer reports. Pods that do not
	// tolerate this are evicted, and cannot be removed before Heal brings the node back.
	LostNode = "lost-node"
	// UnboundVolume means that claims created after it get no volume until Heal.
	UnboundVolume = "unbound-volume"
)

// Failures contains the failures that children can have, for [Failure].
var Failures = []string{"image-pull", "crash-loop", "never-ready", "job", LostNode, UnboundVolume}

// Validate returns all problems of a workload, or nil if there are none: steps without a name or
// with a duplicate name, steps with no action or with two actions, references to steps that are not
// earlier steps, objects without a name, and a Heal without a Fail.
func (w Workload) Validate() error {
	var problems []error
	if w.Name == "" {
		problems = append(problems, errors.New("the scenario has no name"))
	}
	if len(w.Steps) == 0 {
		problems = append(problems, fmt.Errorf("the scenario %q has no steps", w.Name))
	}
	before := history{}
	for i, step := range w.Steps {
		for _, err := range step.problems(before) {
			problems = append(problems, fmt.Errorf("scenario %q, step %d (%q): %w", w.Name, i+1, step.Name, err))
		}
		before.add(step)
	}
	return errors.Join(problems...)
}

// history contains data about the steps before a step.
type history struct {
	names   []string
	failing bool
}

func (h *history) add(s Step) {
	h.names = append(h.names, s.Name)
	h.failing = s.Fail != nil || h.failing && !s.Heal
}

// problems returns the problems of a step.
func (s Step) problems(before history) []error {
	var found []error
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Errorf(format, args...))
		}
	}
	add(s.Name == "", "it has no name")
	add(slices.Contains(before.names, s.Name), "an earlier step has the same name")
	add(s.Same != "" && !slices.Contains(before.names, s.Same), "it is to lead to the same state as %q, which is no earlier step", s.Same)
	switch actions := s.actions(); len(actions) {
	case 0:
		add(true, "it does nothing: set one of apply, delete, fail, heal and drift")
	case 1:
	default:
		add(true, "it does more than one thing: %v", actions)
	}
	add((s.Refused || s.Fresh) && len(s.Apply) == 0, "refused and fresh are for steps that apply objects")
	add(s.Refused && (s.Fresh || s.Same != ""), "what is refused changes nothing: neither fresh nor same can be asked for")
	add(s.Heal && !before.failing, "nothing fails that could be healed")
	return append(found, s.unnamed()...)
}

// actions returns the names of the actions of a step.
func (s Step) actions() []string {
	var set []string
	for _, action := range []struct {
		name string
		is   bool
	}{{"apply", len(s.Apply) > 0}, {"delete", len(s.Delete) > 0}, {"fail", s.Fail != nil}, {"heal", s.Heal}, {"drift", s.Drift != nil}} {
		if action.is {
			set = append(set, action.name)
		}
	}
	return set
}

// unnamed returns the problems with the objects and failures of a step, such as incomplete references.
func (s Step) unnamed() []error {
	var found []error
	refs := slices.Clone(s.Delete)
	for _, object := range s.Apply {
		if object == nil {
			found = append(found, errors.New("an object to apply is empty"))
			continue
		}
		refs = append(refs, RefOf(object))
	}
	if s.Drift != nil {
		refs = append(refs, s.Drift.Of)
	}
	for i, ref := range refs {
		if err := ref.complete(); err != nil {
			found = append(found, err)
			continue
		}
		if slices.ContainsFunc(refs[:i], ref.is) {
			found = append(found, fmt.Errorf("%s is listed twice", ref))
		}
	}
	if s.Fail != nil && !slices.Contains(Failures, s.Fail.How) {
		found = append(found, fmt.Errorf("unknown failure %q of pods, want one of %v", s.Fail.How, Failures))
	}
	if s.Fail != nil && s.Fail.How == UnboundVolume && s.Fail.Pods != 0 {
		found = append(found, errors.New("unbound-volume affects claims: remove pods"))
	}
	if s.Fail != nil && s.Fail.Pods < 0 {
		found = append(found, fmt.Errorf("pods: %d is not a valid number", s.Fail.Pods))
	}
	return found
}
