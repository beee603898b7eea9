package condition

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/core/operatorversion"
)

// Upgraded records which version of the operator reconciled the object last. It exists for
// operators that name their version.
const Upgraded = "Upgraded"

// Reasons of the condition Upgraded.
const (
	// ReasonUpgraded: the version is one that upgrades objects.
	ReasonUpgraded = "Upgraded"
	// ReasonNothingToUpgrade: the version is one that does not.
	ReasonNothingToUpgrade = "NothingToUpgrade"
)

const versionMessage = "the version of the operator is "

// Release returns the record of the operator that reconciled the object last. The version is the last word of the message, whatever the
// wording: other versions of Operon may word it differently.
func (s Status) Release() operatorversion.Record {
	record := operatorversion.Record{Seen: *s.observed > 0 || s.Ready().Type != ""}
	if found := meta.FindStatusCondition(*s.conditions, Upgraded); found != nil {
		record.Version, record.Upgrades = found.Message[strings.LastIndexByte(found.Message, ' ')+1:], found.Reason == ReasonUpgraded
	}
	return record
}

// Record writes which version reconciles the object now. The condition does not refer to a generation of the
// spec, and names none: it would be outdated after the next change of the spec.
func (s Status) Record(record operatorversion.Record, now time.Time) {
	reason := ReasonNothingToUpgrade
	if record.Upgrades {
		reason = ReasonUpgraded
	}
	meta.SetStatusCondition(s.conditions, metav1.Condition{
		Type: Upgraded, Status: metav1.ConditionTrue, Reason: reason, Message: versionMessage + record.Version,
		LastTransitionTime: metav1.NewTime(now),
	})
}
