package operontest

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/condition"
)

// seen contains the results of an operator in a step.
type seen[T client.Object] struct {
	writes, events []string
	// states are the states of the object. They are empty if the object is gone.
	states []T
}

// judge returns the deviations from the expectation.
func (e Expect[T]) judge(s seen[T]) []string {
	wrong := compareWrites(e.Writes, s.writes)
	wrong = append(wrong, compareSets("event", e.Events, s.events, matchesEvent).all()...)
	return append(wrong, e.judgeObject(s.states)...)
}

// judgeObject returns the expectations that no state of the object met, as they fail for the last state.
func (e Expect[T]) judgeObject(states []T) []string {
	if len(states) == 0 {
		if len(e.Conditions) > 0 || e.Status != nil {
			return []string{"the object is gone"}
		}
		return nil
	}
	var wrong []string
	for _, want := range e.Conditions {
		if failed := first(states, func(object T) error { return hasCondition(object, want) }); failed != nil {
			wrong = append(wrong, failed.Error())
		}
	}
	if e.Status == nil {
		return wrong
	}
	if failed := first(states, e.Status); failed != nil {
		wrong = append(wrong, fmt.Sprintf("the status: %v", failed))
	}
	return wrong
}

// first returns nil if a state passes the check, or else the error for the last state.
func first[T any](states []T, check func(T) error) error {
	var wrong error
	for _, state := range states {
		if wrong = check(state); wrong == nil {
			return nil
		}
	}
	return wrong
}

func hasCondition(object client.Object, want string) error {
	all, err := condition.All(object)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(c metav1.Condition) bool { return matchesCondition(want, c) }) {
		return fmt.Errorf("no condition %q; there are %s", want, describe(all))
	}
	return nil
}

// compareWrites shows unexpected writes with +, and missing writes with -.
func compareWrites(want, got []string) []string {
	if slices.Equal(want, got) {
		return nil
	}
	return []string{"writes, + not expected, - missing:\n" + strings.Join(compare(want, got), "\n")}
}

// verdict contains deviations from the expectation.
type verdict struct {
	missing, unexpected []string
}

func (v verdict) and(other verdict) verdict {
	return verdict{append(v.missing, other.missing...), append(v.unexpected, other.unexpected...)}
}

func (v verdict) all() []string { return append(v.missing, v.unexpected...) }

// compareSets finds a match for each wanted entry, in any order.
func compareSets(what string, want, got []string, matches func(want, got string) bool) verdict {
	left := slices.Clone(got)
	var v verdict
	for _, w := range want {
		i := slices.IndexFunc(left, func(g string) bool { return matches(w, g) })
		if i < 0 {
			v.missing = append(v.missing, fmt.Sprintf("missing %s %q", what, w))
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, g := range left {
		v.unexpected = append(v.unexpected, fmt.Sprintf("%s that was not expected: %q", what, g))
	}
	return v
}

func same(want, got string) bool { return want == got }

// matchesEvent compares an event with "Reason", or with "Reason: part of the note".
func matchesEvent(want, got string) bool {
	wantReason, text, _ := strings.Cut(want, ": ")
	reason, note, _ := strings.Cut(got, ": ")
	return wantReason == reason && strings.Contains(note, text)
}

// matchesRead compares a read with "Kind", or with the complete read.
func matchesRead(want, got string) bool {
	kind, _, _ := strings.Cut(got, " ")
	return want == got || want == kind
}

// matchesCondition compares a condition with "Type=Status", "Type=Status Reason" or "Type=Status Reason: part of the message".
func matchesCondition(want string, c metav1.Condition) bool {
	state, text, _ := strings.Cut(want, ": ")
	full := string(c.Type) + "=" + string(c.Status)
	return (state == full || state == full+" "+c.Reason) && strings.Contains(c.Message, text)
}

func describe(conditions []metav1.Condition) string {
	var all []string
	for _, c := range conditions {
		all = append(all, fmt.Sprintf("%q", c.Type+"="+string(c.Status)+" "+c.Reason+": "+c.Message))
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
