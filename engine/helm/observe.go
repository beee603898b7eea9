package helm

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
)

// Conditions of Operator SDK's Helm operator, which are written in addition to those of package operon.
const (
	conditionInitialized    = "Initialized"
	conditionDeployed       = "Deployed"
	conditionFailed         = "ReleaseFailed"
	conditionIrreconcilable = "Irreconcilable"
)

// maxNotes is the maximum number of bytes of NOTES.txt in a condition.
const maxNotes = 32 << 10

// Observe implements operon.Observer.
func (c *composer) Observe(_ context.Context, object *engine.Object, seen *operon.Observed) error {
	p := c.end(object)
	status := &object.Status
	set := func(kind, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: object.Generation,
		})
	}
	set(conditionInitialized, "Initialized", "")
	reason, message, failed := seen.Unapplied()
	install := status.DeployedRelease == nil
	switch {
	case failed && (p == nil || p.rendered == nil || changed(object, p.rendered)):
		set(conditionFailed, event(install)+"Error", message)
	case failed:
		set(conditionIrreconcilable, "ReconcileError", message)
	case reason == "" && p != nil && p.rendered != nil:
		r := p.rendered
		if c.storage != nil {
			c.storage.wrote(object, p.declared)
		}
		meta.RemoveStatusCondition(&status.Conditions, conditionFailed)
		meta.RemoveStatusCondition(&status.Conditions, conditionIrreconcilable)
		set(conditionDeployed, event(r.revision <= 1)+"Successful", r.notes[:min(len(r.notes), maxNotes)])
		if changed(object, r) && (p.more || c.storage != nil) {
			seen.RequeueAfter(time.Millisecond) // hooks follow, or the status of the stored release
		}
		status.DeployedRelease = &engine.Release{Name: object.Name, Revision: r.revision, Digest: r.digest, Manifest: r.manifest}
	}
	return nil
}

// event returns the prefix of a reason.
func event(install bool) string {
	if install {
		return "Install"
	}
	return "Upgrade"
}
