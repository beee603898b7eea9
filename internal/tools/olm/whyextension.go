package olm

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// extension explains a ClusterExtension. If an object that the manager made for it decides, this object is explained, and otherwise the condition
// Progressing.
func (e *explanation) extension(of *Extension) {
	progressing := meta.FindStatusCondition(of.Status.Conditions, conditionProgressing)
	if progressing == nil {
		progressing = &metav1.Condition{}
	}
	e.link(kindExtension, of.Name, progressing.Reason)
	at := func(field string) Field { return Field{Kind: kindExtension, Name: of.Name, Field: field} }
	if of.DeletionTimestamp != nil {
		e.decide("it is being deleted", at("metadata.finalizers"))
		return
	}
	if e.unobserved(kindExtension, of.Name, of.Status.Manager.ObservedGeneration, of.Generation, progressing.Type != "") {
		e.Decides.Namespace = ""
		return
	}
	if progressing.Reason == "Blocked" {
		e.decide(progressing.Message, at("spec.source.catalog"), "correct the field that the message names")
		return
	}
	if plan := e.state.planFor(of); plan != nil {
		e.plan(plan)
		return
	}
	version := e.state.versionOf(of)
	if version != nil && version.Status.Phase != PhaseSucceeded && progressing.Reason != "Retrying" {
		e.version(version)
		return
	}
	if progressing.Reason != reasonSucceeded {
		e.decide(progressing.Message, at("status.conditions[Progressing]"))
		return
	}
	e.settle(of.bundle() + " is installed and matches spec.source.catalog")
}

// planFor returns the plan of a ClusterExtension that is not complete, or nil.
func (s *State) planFor(of *Extension) *InstallPlan {
	for i := range s.Plans {
		plan := &s.Plans[i]
		by := metav1.GetControllerOf(plan)
		if plan.Status.Phase != PlanComplete && plan.Namespace == of.Spec.Namespace && by != nil && by.UID == of.UID {
			return plan
		}
	}
	return nil
}
