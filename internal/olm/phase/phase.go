package phase

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// Reasons of phases. Their names are those of the Operator Lifecycle Manager, which clients know.
const (
	ReasonRequirementsUnknown   = "RequirementsUnknown"
	ReasonRequirementsNotMet    = "RequirementsNotMet"
	ReasonAllRequirementsMet    = "AllRequirementsMet"
	ReasonNotUpgradeable        = "OperatorConditionNotUpgradeable"
	ReasonInstallSucceeded      = "InstallSucceeded"
	ReasonInstallWaiting        = "InstallWaiting"
	ReasonInstallCheckFailed    = "InstallCheckFailed"
	ReasonComponentFailed       = "InstallComponentFailed"
	ReasonComponentUnhealthy    = "ComponentUnhealthy"
	ReasonInvalidStrategy       = "InvalidInstallStrategy"
	ReasonInvalidInstallModes   = "InvalidInstallModes"
	ReasonInvalidWebhook        = "InvalidWebhookDescription"
	ReasonInvalidAPIService     = "InvalidAPIServiceDescription"
	ReasonOwnerConflict         = "OwnerConflict"
	ReasonNoGroup               = "NoOperatorGroup"
	ReasonTooManyGroups         = "TooManyOperatorGroups"
	ReasonUnsupportedGroup      = "UnsupportedOperatorGroup"
	ReasonNoTargets             = "NoTargetNamespaces"
	ReasonBeingReplaced         = "BeingReplaced"
	ReasonReplaced              = "Replaced"
	ReasonRolledBack            = "RolledBack" // not a reason of OLM, which has no rollback
	maxHistory                  = 20
	messageRequirementsUnknown  = "requirements not yet checked"
	messageRequirementsNotMet   = "one or more requirements couldn't be found"
	messageAllRequirementsMet   = "all requirements found, attempting install"
	messageInstallWaiting       = "waiting for install components to report healthy"
	messageInstallSucceeded     = "install strategy completed with no errors"
	messageReplaced             = "has been replaced by a newer ClusterServiceVersion that has successfully installed."
	messageNoLongerBeingReplace = "the version that replaces it is gone"
)

// Problem is why an operator cannot be installed.
type Problem struct{ Reason, Message string }

// Facts are what is known about an operator.
type Facts struct {
	// Problem is a mistake in the ClusterServiceVersion or its OperatorGroup. The zero value means that there is none.
	Problem Problem
	// RequirementsMet means that all objects that the operator needs exist. Otherwise, Missing names those that do not.
	RequirementsMet bool
	Missing         string
	// Predecessor is why the version that this one replaces does not step back yet. Empty: it does, or there is none.
	Predecessor string
	// NotUpgradeable is why the predecessor must not be replaced. Empty: it may be.
	NotUpgradeable string
	// Unapplied is why objects of the operator could not be written. Empty: all are.
	Unapplied Problem
	// Unavailable is the message of a Deployment that is not available. Empty: all are available.
	Unavailable string
	// ReplacedBy is the name of the version that replaces this one. Empty: there is none.
	ReplacedBy string
	// ReplacementSucceeded means that the version that replaces this one works.
	ReplacementSucceeded bool
	// RollBack is the version that works again if this one does not become available. Empty: there is none.
	RollBack string
	// Began is when the upgrade from that version to this one began.
	Began time.Time
	// Started is when the manager started. Nothing was installed before, so that this time does not count.
	Started time.Time
}

// waited returns how long the manager has waited since a time.
func (f Facts) waited(since, now time.Time) time.Duration {
	if since.Before(f.Started) {
		since = f.Started
	}
	return now.Sub(since)
}

// Limit is how long an installation may take, and the time before it if there is a version to roll back to.
const Limit = 5 * time.Minute

// Advance writes the phases that follow from facts into a status. It returns how long to wait until the result can change by time alone, or
// 0.
func Advance(status *v1alpha1.ClusterServiceVersionStatus, facts Facts, now time.Time) time.Duration {
	for range 8 { // the longest way is from Failed to Succeeded
		next, changed := step(status, facts, now)
		if !changed {
			break
		}
		enter(status, next, now)
	}
	switch {
	case status.Phase == v1alpha1.PhaseInstalling:
		return max(time.Second, Limit-facts.waited(since(status, now), now))
	case facts.RollBack != "" && waits(status.Phase):
		return max(time.Second, Limit-facts.waited(facts.Began, now))
	}
	return 0
}

// waits reports whether a version in a phase waits for something else than its Deployments.
func waits(phase v1alpha1.Phase) bool {
	return phase == v1alpha1.PhasePending || phase == v1alpha1.PhaseInstallReady || phase == v1alpha1.PhaseFailed
}

// rolledBack reports whether a version whose phase does not change is given up for the one before.
func rolledBack(is entry, facts Facts, now time.Time) bool {
	return facts.RollBack != "" && (is.phase == v1alpha1.PhaseFailed && is.reason == ReasonInstallCheckFailed || waits(is.phase) && facts.waited(facts.Began, now) >= Limit)
}

// entry is a phase with its reason.
type entry struct {
	phase           v1alpha1.Phase
	reason, message string
}

// step returns the phase that follows, and false if the status has it already.
func step(status *v1alpha1.ClusterServiceVersionStatus, facts Facts, now time.Time) (entry, bool) {
	is, next := entry{status.Phase, status.Reason, status.Message}, follow(status, facts, now)
	if is == next && rolledBack(is, facts, now) {
		next = entry{v1alpha1.PhaseReplacing, ReasonRolledBack, fmt.Sprintf("rolled back to %s: %s", facts.RollBack, is.message)}
	}
	return next, next != is
}

func follow(status *v1alpha1.ClusterServiceVersionStatus, facts Facts, now time.Time) entry {
	is := entry{status.Phase, status.Reason, status.Message}
	switch status.Phase {
	case v1alpha1.PhaseNone:
		return entry{v1alpha1.PhasePending, ReasonRequirementsUnknown, messageRequirementsUnknown}
	case v1alpha1.PhaseReplacing:
		return replacing(is, facts)
	case v1alpha1.PhaseDeleting:
		return is
	}
	if facts.ReplacedBy != "" && (replaceable(status) || facts.ReplacementSucceeded) { // what works already needs no version before it
		return entry{v1alpha1.PhaseReplacing, ReasonBeingReplaced, "being replaced by csv: " + facts.ReplacedBy}
	}
	if facts.Problem.Reason != "" {
		return entry{v1alpha1.PhaseFailed, facts.Problem.Reason, facts.Problem.Message}
	}
	switch status.Phase {
	case v1alpha1.PhasePending:
		return pending(facts)
	case v1alpha1.PhaseInstallReady:
		return ready(is, facts)
	case v1alpha1.PhaseInstalling:
		return installing(status, facts, now)
	case v1alpha1.PhaseSucceeded:
		return succeeded(is, facts)
	case v1alpha1.PhaseFailed:
		return failed(is, facts)
	}
	return entry{v1alpha1.PhasePending, ReasonRequirementsUnknown, messageRequirementsUnknown} // a phase that this manager does not know
}

// replaceable reports whether a version can step back for the next one: it works, or it has worked and lacks something now. The plan of the next
// version may be the reason, if its definitions no longer serve an API version that this one needs.
func replaceable(status *v1alpha1.ClusterServiceVersionStatus) bool {
	return status.Phase == v1alpha1.PhaseSucceeded || status.Phase == v1alpha1.PhasePending && status.Reason == ReasonRequirementsNotMet && Worked(status)
}

// Worked reports whether a version has worked at some time.
func Worked(status *v1alpha1.ClusterServiceVersionStatus) bool {
	return status.Phase == v1alpha1.PhaseSucceeded ||
		slices.ContainsFunc(status.History, func(one v1alpha1.PhaseEntry) bool { return one.Phase == v1alpha1.PhaseSucceeded })
}

// Replaces reports whether a version replaces another one. After a downgrade, the older version keeps the name of the newer one. When that is
// installed again, each names the other, and the one that was created last replaces the other.
func Replaces(csv, other *v1alpha1.ClusterServiceVersion) bool {
	return csv.Namespace == other.Namespace && csv.Spec.Replaces == other.Name && (other.Spec.Replaces != csv.Name ||
		cmp.Or(csv.CreationTimestamp.Compare(other.CreationTimestamp.Time), strings.Compare(csv.Name, other.Name)) > 0)
}

func replacing(is entry, facts Facts) entry {
	switch {
	case facts.RollBack != "" && is.reason == ReasonRolledBack: // it has just begun
		return is
	case facts.ReplacedBy == "":
		return entry{v1alpha1.PhasePending, ReasonRequirementsUnknown, messageNoLongerBeingReplace}
	case facts.ReplacementSucceeded && is.reason == ReasonRolledBack:
		return entry{v1alpha1.PhaseDeleting, ReasonRolledBack, is.message}
	case facts.ReplacementSucceeded:
		return entry{v1alpha1.PhaseDeleting, ReasonReplaced, messageReplaced}
	}
	return is
}

// RolledBack reports whether a version is given up: the version before works again, and takes over what this one has.
func RolledBack(csv *v1alpha1.ClusterServiceVersion) bool {
	return csv.Status.Reason == ReasonRolledBack && (csv.Status.Phase == v1alpha1.PhaseReplacing || csv.Status.Phase == v1alpha1.PhaseDeleting)
}

// NotMet returns the message about requirements that are not met.
func (f Facts) NotMet() string {
	if f.Missing == "" {
		return messageRequirementsNotMet
	}
	return messageRequirementsNotMet + ": " + f.Missing
}

func pending(facts Facts) entry {
	switch {
	case facts.NotUpgradeable != "": // a plan does not write what is required before
		return entry{v1alpha1.PhasePending, ReasonNotUpgradeable, facts.NotUpgradeable}
	case !facts.RequirementsMet:
		return entry{v1alpha1.PhasePending, ReasonRequirementsNotMet, facts.NotMet()}
	case facts.Predecessor != "":
		return entry{v1alpha1.PhasePending, ReasonRequirementsUnknown, facts.Predecessor}
	}
	return entry{v1alpha1.PhaseInstallReady, ReasonAllRequirementsMet, messageAllRequirementsMet}
}

func ready(is entry, facts Facts) entry {
	switch {
	case !facts.RequirementsMet:
		return entry{v1alpha1.PhasePending, ReasonRequirementsNotMet, facts.NotMet()}
	case facts.Unapplied.Reason != "":
		return entry{v1alpha1.PhaseFailed, facts.Unapplied.Reason, facts.Unapplied.Message}
	case facts.Unapplied.Message != "": // not written yet
		return is
	}
	return entry{v1alpha1.PhaseInstalling, ReasonInstallSucceeded, messageInstallWaiting}
}

func installing(status *v1alpha1.ClusterServiceVersionStatus, facts Facts, now time.Time) entry {
	switch {
	case !facts.RequirementsMet:
		return entry{v1alpha1.PhasePending, ReasonRequirementsNotMet, facts.NotMet()}
	case facts.Unapplied.Reason != "":
		return entry{v1alpha1.PhaseFailed, facts.Unapplied.Reason, facts.Unapplied.Message}
	case facts.Unavailable == "":
		return entry{v1alpha1.PhaseSucceeded, ReasonInstallSucceeded, messageInstallSucceeded}
	case facts.waited(since(status, now), now) >= Limit:
		return entry{v1alpha1.PhaseFailed, ReasonInstallCheckFailed, fmt.Sprintf("install timeout after %s: %s", Limit, facts.Unavailable)}
	}
	return entry{v1alpha1.PhaseInstalling, ReasonInstallWaiting, "installing: " + facts.Unavailable}
}

func succeeded(is entry, facts Facts) entry {
	switch {
	case !facts.RequirementsMet:
		return entry{v1alpha1.PhaseFailed, ReasonRequirementsNotMet, facts.NotMet()}
	case facts.Unapplied.Reason != "":
		return entry{v1alpha1.PhaseFailed, ReasonComponentUnhealthy, facts.Unapplied.Message}
	case facts.Unavailable != "":
		return entry{v1alpha1.PhaseFailed, ReasonComponentUnhealthy, "installing: " + facts.Unavailable}
	}
	return is
}

// failed leaves the phase when its cause is gone. It does not alternate between phases meanwhile.
func failed(is entry, facts Facts) entry {
	again := entry{v1alpha1.PhasePending, ReasonRequirementsUnknown, messageRequirementsUnknown}
	switch is.reason {
	case ReasonRequirementsNotMet:
		return again // Pending has the requirements in its message until they are met
	case ReasonComponentUnhealthy, ReasonInstallCheckFailed, ReasonComponentFailed:
		switch {
		case !facts.RequirementsMet:
			return again
		case facts.Unapplied.Reason != "" || facts.Unapplied.Message != "":
			return is
		case facts.Unavailable != "":
			return is
		}
	}
	return again
}

// since returns when the installation began.
func since(status *v1alpha1.ClusterServiceVersionStatus, now time.Time) time.Time {
	for i := len(status.History) - 1; i >= 0; i-- {
		one := status.History[i]
		if one.Phase != v1alpha1.PhaseInstalling {
			break
		}
		if one.LastTransitionTime != nil {
			now = one.LastTransitionTime.Time
		}
	}
	return now
}

// enter writes a phase into a status. The history keeps the last phases. Within a phase, only the message of the last entry changes.
func enter(status *v1alpha1.ClusterServiceVersionStatus, next entry, now time.Time) {
	at := metav1.NewTime(now).Rfc3339Copy()
	moved := status.Phase != next.phase || status.Reason != next.reason
	status.Phase, status.Reason, status.Message, status.LastUpdateTime = next.phase, next.reason, next.message, &at
	if moved {
		status.LastTransitionTime = &at
	}
	if moved || len(status.History) == 0 { // the history of another manager may be lost
		status.History = append(status.History, v1alpha1.PhaseEntry{})
		if len(status.History) > maxHistory {
			status.History = status.History[len(status.History)-maxHistory:]
		}
	}
	status.History[len(status.History)-1] = v1alpha1.PhaseEntry{
		Phase: next.phase, Reason: next.reason, Message: next.message, LastUpdateTime: &at, LastTransitionTime: status.LastTransitionTime,
	}
}
