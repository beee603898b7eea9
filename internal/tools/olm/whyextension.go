package olm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Extension returns the ClusterExtension with a name, or nil.
func (s *State) Extension(name string) *Extension {
	return find(s.Extensions, "", name, func(x *Extension) (string, string) { return "", x.Name })
}

// extension explains a ClusterExtension. The message of the condition Progressing has the cause, unless an object that the manager made for it decides.
func (e *explanation) extension(of *Extension) {
	progressing := condition(of.Status.Conditions, conditionProgressing)
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
	switch version := e.state.versionOf(of); {
	case progressing.Reason == "Blocked":
		e.decide(progressing.Message, at("spec.source.catalog"), "correct the field that the message names")
	case progressing.Reason == "Retrying":
		e.decide(progressing.Message, at("status.conditions[Progressing]"))
	case version != nil && version.Status.Phase != PhaseSucceeded:
		e.version(version)
	case progressing.Reason != reasonSucceeded && !e.planOf(of):
		e.decide(progressing.Message, at("status.conditions[Progressing]"))
	case progressing.Reason == reasonSucceeded:
		e.settle(of.installed() + " is installed, as spec.source.catalog asks for")
	}
}

// planOf explains the plan of a ClusterExtension that is not complete, if there is one.
func (e *explanation) planOf(of *Extension) bool {
	for i := range e.state.Plans {
		plan := &e.state.Plans[i]
		by := metav1.GetControllerOf(plan)
		if plan.Status.Phase != PlanComplete && plan.Namespace == of.Spec.Namespace && by != nil && by.UID == of.UID {
			e.plan(plan)
			return true
		}
	}
	return false
}
