package installplan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/plan"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

// Observe implements operon.Observer: it writes the phase and the steps.
func (c *Composer) Observe(_ context.Context, of *v1alpha1.InstallPlan, seen *operon.Observed) error {
	p := c.passes.End(of)
	if p == nil || !p.complete || p.stays {
		return nil // the plan is complete, or Compose failed or found out nothing
	}
	status := &of.Status
	if len(p.lookups) > 0 {
		status.BundleLookups, status.Plan = p.lookups, p.steps
		status.CatalogSources = sources(p.lookups)
		c.set(status, "Resolved", true, "", "")
	}
	if len(p.changes) > 0 {
		c.set(status, "Converted", true, "RemovedAPIVersions", listed(p.changes))
	}
	reason, message, failed := seen.Unapplied()
	switch {
	case p.waits != "":
		status.Phase, status.Message = p.waits, p.message
	case failed:
		status.Phase, status.Message = v1alpha1.PlanFailed, reason+": "+message
	case reason != "":
		status.Phase, status.Message = v1alpha1.PlanInstalling, message
	default:
		p.finish(status)
	}
	if status.StartTime == nil && of.Spec.Approved && p.waits == "" {
		now := metav1.NewTime(c.Clock.Now()).Rfc3339Copy()
		status.StartTime = &now
	}
	switch status.Phase {
	case v1alpha1.PlanComplete:
		c.set(status, conditionInstalled, true, "", "")
	case v1alpha1.PlanFailed:
		c.set(status, conditionInstalled, false, "InstallComponentFailed", status.Message)
	case v1alpha1.PlanInstalling:
		if p.held != "" {
			c.set(status, conditionInstalled, false, phase.ReasonNotUpgradeable, p.held)
		} else if Held(of) {
			meta.RemoveStatusCondition(&status.Steps, conditionInstalled)
		}
	}
	return nil
}

const conditionInstalled = "Installed"

// Held reports whether a plan has written nothing but the new version, because the version before must not be replaced now. That version keeps its
// objects until then.
func Held(of *v1alpha1.InstallPlan) bool {
	installed := meta.FindStatusCondition(of.Status.Steps, conditionInstalled)
	return installed != nil && installed.Reason == phase.ReasonNotUpgradeable
}

// maxListed is how many changes a condition lists.
const maxListed = 20

// listed returns a list of changes as one text.
func listed(changes []string) string {
	if more := len(changes) - maxListed; more > 0 {
		changes = append(slices.Clone(changes[:maxListed]), fmt.Sprintf("%d more", more))
	}
	text := strings.Join(changes, "; ")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// maxText is the length of such a text in bytes.
const maxText = 8 << 10

// finish records that all objects are written, apart from those of kinds that the cluster lacks.
func (p *pass) finish(status *v1alpha1.InstallPlanStatus) {
	var leftOut []string
	for i := range status.Plan {
		step := &status.Plan[i]
		if step.Status != v1alpha1.StepPresent {
			step.Status = v1alpha1.StepCreated
		}
		if why := p.leftOut[step.Resource.Kind+"/"+step.Resource.Name]; why != "" {
			step.Status, leftOut = v1alpha1.StepUnsupported, append(leftOut, why)
		}
	}
	status.Phase, status.Message = v1alpha1.PlanComplete, strings.Join(leftOut, "; ")
}

func (c *Composer) set(status *v1alpha1.InstallPlanStatus, kind string, is bool, reason, message string) {
	condition := metav1.Condition{
		Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(c.Clock.Now()),
	}
	if is {
		condition.Status = metav1.ConditionTrue
	}
	if reason == "" {
		condition.Reason = kind
	}
	meta.SetStatusCondition(&status.Steps, condition)
}

// sources returns the catalogs of bundles, each once.
func sources(lookups []v1alpha1.BundleLookup) []string {
	var names []string
	known := map[string]bool{}
	for _, one := range lookups {
		if name := one.CatalogSourceRef.Name; !known[name] {
			known[name] = true
			names = append(names, name)
		}
	}
	return names
}

func lookup(read *catalogs.Bundle, name string, source types.NamespacedName) v1alpha1.BundleLookup {
	return v1alpha1.BundleLookup{
		Path: read.Image, Digest: read.Digest, Identifier: name,
		CatalogSourceRef: &corev1.ObjectReference{Namespace: source.Namespace, Name: source.Name},
	}
}

// step returns the step for an object. One that was Present remains so: now the object may be a child of the plan.
func step(of *v1alpha1.InstallPlan, name string, source types.NamespacedName, object *unstructured.Unstructured) v1alpha1.Step {
	kind := object.GroupVersionKind()
	made := v1alpha1.Step{Resolving: name, Status: v1alpha1.StepUnknown, Resource: v1alpha1.StepResource{
		CatalogSource: source.Name, CatalogSourceNamespace: source.Namespace,
		Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Name: object.GetName(),
	}}
	if slices.ContainsFunc(of.Status.Plan, func(before v1alpha1.Step) bool {
		return before.Status == v1alpha1.StepPresent && before.Resource.Kind == kind.Kind && before.Resource.Name == object.GetName()
	}) {
		made.Status = v1alpha1.StepPresent
	}
	return made
}

// sourcesOf returns the catalogs of the versions of a plan.
func sourcesOf(of *v1alpha1.InstallPlan) (map[string]types.NamespacedName, error) {
	all := map[string]types.NamespacedName{}
	for _, one := range strings.Split(of.Annotations[AnnotationBundles], ",") {
		name, source, ok := strings.Cut(one, "=")
		namespace, catalog, complete := strings.Cut(source, "/")
		if !ok || !complete {
			return nil, fmt.Errorf("the annotation %s: want NAME=NAMESPACE/CATALOG, got %q", AnnotationBundles, one)
		}
		all[name] = types.NamespacedName{Namespace: namespace, Name: catalog}
	}
	return all, nil
}

// pinsOf returns the contents that a plan had when it was made: what is installed is what was approved.
func pinsOf(of *v1alpha1.InstallPlan) map[string]catalogs.Pin {
	all := map[string]catalogs.Pin{}
	for _, one := range of.Status.BundleLookups {
		all[one.Identifier] = catalogs.Pin{Image: one.Path, Digest: one.Digest}
	}
	return all
}

// own adds a reference to a ClusterServiceVersion, with which the object is deleted.
func own(object client.Object, csv *v1alpha1.ClusterServiceVersion) {
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kindCSV, Name: csv.Name, UID: csv.UID,
	}})
}

// isChild reports whether an object is a child of a plan already.
func isChild(live client.Object, of *v1alpha1.InstallPlan) bool {
	return live.GetLabels()[plan.OwnerLabel] == string(of.UID)
}
