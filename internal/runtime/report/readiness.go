package report

import (
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/core/outcome"
)

// Transition is the Ready condition of an object before and after a reconcile.
type Transition struct{ Before, After metav1.Condition }

// Readiness is the readiness of one object as logged last. The cache may for a moment show the state
// before the operator's own write, which would be logged twice. The zero value is for
// an object for which nothing was logged yet.
type Readiness struct {
	status metav1.ConditionStatus
	reason string
	logged bool
}

// Become records the state of an object of a kind after a transition, and returns the previous one: the one
// logged last, or else the one in the object's status.
func (r *Readiness) Become(kind string, t Transition) (before Readiness) {
	before = *r
	if !before.logged {
		before = Readiness{status: t.Before.Status, reason: t.Before.Reason}
	} else {
		objectsReady.WithLabelValues(kind, string(before.status)).Dec()
	}
	*r = Readiness{status: t.After.Status, reason: t.After.Reason, logged: true}
	objectsReady.WithLabelValues(kind, string(r.status)).Inc()
	return before
}

// Forget removes a deleted object of a kind from the metrics.
func (r *Readiness) Forget(kind string) {
	if r.logged {
		objectsReady.WithLabelValues(kind, string(r.status)).Dec()
	}
	*r = Readiness{}
}

// Log logs that an object became ready or stopped being ready, as an error if waiting
// alone does not help. An object that was not ready before and waits for its children is not a transition.
func (r *Readiness) Log(logger logr.Logger, kind string, t Transition, o outcome.Outcome, err error) {
	before := r.Become(kind, t)
	if before.status == t.After.Status && before.reason == t.After.Reason {
		return
	}
	waits := o.Kind() == outcome.KindWait
	switch {
	case t.After.Status == metav1.ConditionTrue:
		logger.Info("ready")
	case waits && before.status == metav1.ConditionTrue:
		logger.Info("not ready", "reason", t.After.Reason, "message", t.After.Message)
	case !waits:
		logger.Error(err, "not ready", "reason", t.After.Reason)
	}
}
