package oracle

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/runlog"
)

// complaints returns the problems with its current generation that a custom resource reports at the end of a step: the types of its conditions,
// its phase, and fields such as errorMessage.
func complaints(step runlog.Step, object *unstructured.Unstructured) []string {
	i := slices.IndexFunc(step.State, func(one *unstructured.Unstructured) bool {
		return one.GroupVersionKind() == object.GroupVersionKind() && one.GetName() == object.GetName()
	})
	if i < 0 {
		return nil
	}
	one := step.State[i]
	status, _, _ := unstructured.NestedMap(one.Object, "status")
	current := func(of map[string]any, otherwise bool) bool {
		seen, known := observed(of)
		return known && seen == one.GetGeneration() || !known && otherwise
	}
	isCurrent := current(status, true)
	var all []string
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		kind, _ := condition["type"].(string)
		if current(condition, isCurrent) && isProblem(kind, condition["status"]) {
			all = append(all, kind)
		}
	}
	for field, text := range status {
		if said, _ := text.(string); isCurrent && said != "" && isFailure(field) {
			all = append(all, field)
		}
	}
	for _, field := range []string{"phase", "state"} {
		if phase, _ := status[field].(string); isCurrent && isFailure(phase) {
			all = append(all, phase)
		}
	}
	return all
}

// observed returns the generation that a status or a condition is about, and whether it says so. Some operators store it as a string.
func observed(of map[string]any) (generation int64, known bool) {
	switch seen := of["observedGeneration"].(type) {
	case int64:
		return seen, true
	case string:
		parsed, err := strconv.ParseInt(seen, 10, 64)
		return parsed, err == nil
	}
	return 0, false
}

// Words of conditions and phases. They are the usual ones of the Kubernetes API conventions, kstatus, and operators.
var (
	// good are the last words of conditions that are True if all is well.
	good = regexp.MustCompile(`^(?i)(ready|available|healthy|valid|validated|accepted|synced|reconciled|succeeded|applied|configured)$`)
	// bad are the first or last words of conditions and phases that report a problem.
	bad      = regexp.MustCompile(`^(?i)(invalid|fail|failed|failing|failure|error|errors|errored|degraded|stalled|unhealthy|unavailable|rejected|misconfigured)$`)
	negation = regexp.MustCompile(`^(?i)(no|not|non|without)$`)
	// offered are words before Available that say what could be installed.
	offered = regexp.MustCompile(`^(?i)(updates?|upgrades?|versions?)$`)
)

// isProblem reports whether a condition with a status reports a problem: Ready is False, NotReady or InvalidSpec is True, or NoErrors is False.
func isProblem(kind string, status any) bool {
	words := wordsOf(kind)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	isBad := bad.MatchString(words[0]) || bad.MatchString(last)
	isGood := !isBad && good.MatchString(last) && (len(words) == 1 || !offered.MatchString(words[len(words)-2]))
	if slices.ContainsFunc(words, negation.MatchString) {
		isBad, isGood = isGood, isBad
	}
	return isBad && status == "True" || isGood && status == "False"
}

// isFailure reports whether a phase reports a problem.
func isFailure(phase string) bool {
	words := wordsOf(phase)
	return len(words) > 0 && (bad.MatchString(words[0]) || bad.MatchString(words[len(words)-1])) && !slices.ContainsFunc(words, negation.MatchString)
}

// Words of a name begin where a small letter precedes a capital one, and before the last capital letter of an abbreviation.
var (
	afterSmall        = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	afterAbbreviation = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
)

// wordsOf splits names such as InvalidSpec, TLSError and update-failed.
func wordsOf(name string) []string {
	name = afterAbbreviation.ReplaceAllString(afterSmall.ReplaceAllString(name, "$1 $2"), "$1 $2")
	return strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
