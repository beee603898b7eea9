package olm

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// groupReasons are reasons of a version that follow from its OperatorGroup, and what to do about them.
var groupReasons = map[string]struct{ field, do string }{
	"NoOperatorGroup":                 {"metadata.namespace", "create an OperatorGroup in the namespace"},
	"TooManyOperatorGroups":           {"metadata.namespace", "delete all OperatorGroups of the namespace but one"},
	"NoTargetNamespaces":              {"spec.selector", "label a namespace so that the selector selects it"},
	"UnsupportedOperatorGroup":        {"spec.targetNamespaces", "select namespaces that an install mode of the operator supports"},
	"GroupServiceAccountForbidden":    {"spec.serviceAccountName", "grant the ServiceAccount what the message names, or create it, or remove the field"},
	"InterOperatorGroupOwnerConflict": {"status.namespaces", "select other namespaces, or remove the other operator"},
}

// version explains a ClusterServiceVersion.
func (e *explanation) version(of *Version) {
	status := of.Status
	e.link(kindVersion, of.Name, joined(status.Phase, status.Reason))
	if of.DeletionTimestamp != nil {
		e.decide(of.Name+" is being deleted", e.at(kindVersion, of.Name, "metadata.finalizers"))
		return
	}
	if e.unobserved(kindVersion, of.Name, status.Manager.ObservedGeneration, of.Generation, status.Phase != "") {
		return
	}
	ofGroup, isGroup := groupReasons[status.Reason]
	switch {
	case status.Phase == PhaseSucceeded:
		e.settle(of.Name + " runs")
	case isGroup:
		name := "(none)"
		if group := e.state.group(of.Namespace); group != nil {
			name = group.Name
		}
		e.decide(status.Message, e.at(kindGroup, name, ofGroup.field), ofGroup.do)
	case status.Reason == "RequirementsNotMet":
		e.requirement(of)
	case status.Reason == "OperatorConditionNotUpgradeable":
		e.decide(status.Message, e.at("OperatorCondition", of.Spec.Replaces, "spec.conditions[Upgradeable]"),
			"wait until the operator allows it, or overrule it in spec.overrides of the OperatorCondition")
	case status.Reason == "PermissionsChanged":
		e.decide(status.Message, e.at(kindVersion, of.Name, "spec.install"), "undo the change, or delete the ClusterServiceVersion, so that the manager installs it again")
	case status.Phase == PhaseReplacing || status.Phase == PhaseDeleting:
		e.decide(status.Message, e.at(kindVersion, of.Name, "status.phase"))
	default:
		e.workloads(of)
	}
}

func joined(phase, reason string) string {
	if phase == "" || reason == "" {
		return phase
	}
	return phase + " (" + reason + ")"
}

// shownMissing is the number of requirements that an explanation names, besides the first one.
const shownMissing = 3

// requirement decides for the first requirement that is not met.
func (e *explanation) requirement(of *Version) {
	var missing []int
	for i, one := range of.Status.RequirementStatus {
		if one.Status != "Present" && one.Status != "DeploymentFound" {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 {
		e.decide(of.Status.Message, e.at(kindVersion, of.Name, "status.requirementStatus"))
		return
	}
	first := of.Status.RequirementStatus[missing[0]]
	why := fmt.Sprintf("%s needs %s %s: %s", of.Name, first.Kind, first.Name, first.Message)
	for _, right := range first.Dependents {
		if first.Status == "PresentNotSatisfied" && right.Status != "Satisfied" {
			why += ": " + right.Message
			break
		}
	}
	for i, also := range missing[1:] {
		if i == shownMissing {
			why += fmt.Sprintf("; and %d more", len(missing)-1-i)
			break
		}
		other := of.Status.RequirementStatus[also]
		why += fmt.Sprintf("; and %s %s", other.Kind, other.Name)
	}
	e.decide(why, e.at(kindVersion, of.Name, fmt.Sprintf("status.requirementStatus[%d]", missing[0])), e.remedy(of, first)...)
}

// remedy returns what to do about a requirement.
func (e *explanation) remedy(of *Version, missing Requirement) []string {
	switch {
	case missing.Kind == "CustomResourceDefinition" && owns(of, missing.Name):
		return []string{"apply the CustomResourceDefinition of the bundle; a Subscription installs it together with the version"}
	case missing.Kind == "CustomResourceDefinition":
		var do []string
		if by := e.state.SubscriptionOf(of); by != nil {
			for _, one := range e.state.Dependencies(by) {
				plan := e.state.planOf(one.Subscription)
				if plan != nil && plan.Status.Phase == PlanRequiresApproval && !plan.Spec.Approved && one.Subscription.Status.InstalledCSV == "" {
					do = append(do, fmt.Sprintf("operon olm approve %s -n %s", plan.Name, plan.Namespace))
				}
			}
		}
		if len(do) > 0 {
			return do
		}
		return []string{"install an operator that provides it"}
	case missing.Kind == "ServiceAccount" && e.state.SubscriptionOf(of) == nil && of.ExtensionOwner() == nil:
		return []string{"create the ServiceAccount and its permissions; a Subscription grants them together with the version"}
	case missing.Kind == "ServiceAccount":
		return []string{"the permissions in the ClusterServiceVersion differ from those of its bundle, and only those are granted: undo the change"}
	}
	return nil
}

func owns(of *Version, crd string) bool {
	return slices.ContainsFunc(of.Spec.Definitions.Owned, func(api API) bool { return api.Name == crd })
}

// workloads decides for the first Deployment that is not available, and its first pod that is not ready.
func (e *explanation) workloads(of *Version) {
	for _, wanted := range of.Spec.Install.Spec.Deployments {
		deployment := e.workload("Deployment", wanted.Name)
		if deployment == nil {
			continue
		}
		state, message := tree.Judge(deployment)
		if state == tree.Ready {
			continue
		}
		e.link("Deployment", wanted.Name, joined(string(state), message))
		if pod, why := e.pod(deployment); pod != "" {
			e.link("Pod", pod, why)
			e.decide(fmt.Sprintf("Pod %s of %s is not ready: %s", pod, of.Name, why), e.at("Pod", pod, "status"),
				fmt.Sprintf("kubectl describe pod %s -n %s", pod, e.state.Namespace), fmt.Sprintf("kubectl logs %s -n %s", pod, e.state.Namespace))
			return
		}
		e.decide(fmt.Sprintf("Deployment %s of %s is not available: %s", wanted.Name, of.Name, message), e.at("Deployment", wanted.Name, "status.conditions"),
			fmt.Sprintf("operon explain deployment/%s -n %s", wanted.Name, e.state.Namespace))
		return
	}
	message := cmp.Or(of.Status.Message, of.Status.Manager.ready().Message, "it is being installed")
	e.decide(fmt.Sprintf("%s is %s: %s", of.Name, of.Status.Phase, message), e.at(kindVersion, of.Name, "status.message"))
}

func (e *explanation) workload(kind, name string) *unstructured.Unstructured {
	for _, one := range e.state.Workloads {
		if one.GetKind() == kind && one.GetName() == name {
			return one
		}
	}
	return nil
}

// pod returns the first pod of a Deployment that is not ready, and why it is not.
func (e *explanation) pod(of *unstructured.Unstructured) (name, why string) {
	selector, _, _ := unstructured.NestedStringMap(of.Object, "spec", "selector", "matchLabels")
	for _, one := range e.state.Workloads {
		if one.GetKind() != "Pod" || len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(one.GetLabels())) {
			continue
		}
		if state, message := tree.Judge(one); state != tree.Ready {
			return one.GetName(), cmp.Or(message, string(state))
		}
	}
	return "", ""
}
