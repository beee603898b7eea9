package phase

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "github.com/operon-framework/operon/internal/olm/api/v2"
)

// NotUpgradeable returns why an operator must not be replaced, from its OperatorCondition, or an empty string: the override of an administrator
// wins, and what the operator said about an older generation does not count. One that does not exist says nothing.
func NotUpgradeable(condition *v2.OperatorCondition) string {
	says := meta.FindStatusCondition(condition.Spec.Overrides, v2.Upgradeable)
	if says == nil {
		says = meta.FindStatusCondition(condition.Spec.Conditions, v2.Upgradeable)
		if says == nil || says.ObservedGeneration != 0 && says.ObservedGeneration < condition.Generation-1 {
			return ""
		}
	}
	if says.Status != metav1.ConditionFalse {
		return ""
	}
	return fmt.Sprintf("operator is not upgradeable: The operator %s is not upgradeable: %s", condition.Name, strings.TrimSpace(says.Message))
}
