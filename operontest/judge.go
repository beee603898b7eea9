package operontest

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// seen is what an operator did in a step, and the object then.
type seen[T client.Object] struct {
	writes, events []string
	object         T
	gone           bool // the object is not there any more
	conditions     []metav1.Condition
}

// judge says what is not as expected.
func (e Expect[T]) judge(s seen[T]) []string {
	wrong := compareWrites(e.Writes, s.writes)
	wrong = append(wrong, compareSets("event", e.Events, s.events, matchesEvent)...)
	return append(wrong, e.judgeObject(s)...)
}

// judgeObject says what is wrong with the object.
func (e Expect[T]) judgeObject(s seen[T]) []string {
	if s.gone {
		if len(e.Conditions) > 0 || e.Status != nil {
			return []string{"the object is gone"}
		}
		return nil
	}
	var wrong []string
	for _, want := range e.Conditions {
		if !slices.ContainsFunc(s.conditions, func(c metav1.Condition) bool { return matchesCondition(want, c) }) {
			wrong = append(wrong, fmt.Sprintf("no condition %q; there are %s", want, describe(s.conditions)))
		}
	}
	if e.Status == nil {
		return wrong
	}
	if err := e.Status(s.object); err != nil {
		wrong = append(wrong, fmt.Sprintf("the status: %v", err))
	}
	return wrong
}

// compareWrites shows writes that were not expected with +, and such as did not happen with -.
func compareWrites(want, got []string) []string {
	if slices.Equal(want, got) {
		return nil
	}
	return []string{"writes, + not expected, - missing:\n" + strings.Join(compare(want, got), "\n")}
}

// compareSets finds for each that is wanted one that is there, in any order.
func compareSets(what string, want, got []string, matches func(want, got string) bool) []string {
	left := slices.Clone(got)
	var wrong []string
	for _, w := range want {
		i := slices.IndexFunc(left, func(g string) bool { return matches(w, g) })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("missing %s %q", what, w))
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, g := range left {
		wrong = append(wrong, fmt.Sprintf("%s that was not expected: %q", what, g))
	}
	return wrong
}

// matchesEvent: "Reason", or "Reason: part of the note".
func matchesEvent(want, got string) bool {
	wantReason, text, _ := strings.Cut(want, ": ")
	reason, note, _ := strings.Cut(got, ": ")
	return wantReason == reason && strings.Contains(note, text)
}

// matchesRead: "Kind", or all that was read.
func matchesRead(want, got string) bool {
	kind, _, _ := strings.Cut(got, " ")
	return want == got || want == kind
}

// matchesCondition: "Type=Status", "Type=Status Reason" or "Type=Status Reason: part of the message".
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
