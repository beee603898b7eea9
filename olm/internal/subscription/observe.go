package subscription

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/olm/resolve"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// Observe implements operon.Observer.
func (c *Composer) Observe(_ context.Context, of *v1alpha1.Subscription, _ *operon.Observed) error {
	p := c.passes.End(of)
	if p == nil || !p.complete {
		return nil // Compose failed
	}
	before, status := of.Status.DeepCopy(), &of.Status
	status.CatalogHealth, status.InstalledCSV, status.CurrentCSV = p.health, p.installed, p.chosen
	status.State, status.Reason, status.RolledBack = stateOf(of, p), "", p.rolledBack
	if p.plan != nil {
		status.InstallPlanRef, status.InstallPlanGeneration = reference(p.plan, "InstallPlan"), p.plan.Spec.Generation
		status.InstallPlan = &v1alpha1.InstallPlanReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "InstallPlan", Name: p.plan.Name, UID: p.plan.UID}
	}
	for _, kind := range conditionsOfOLM {
		meta.RemoveStatusCondition(&status.Problems, kind)
	}
	for _, kind := range []string{conditionResolution, conditionUnhealthy, conditionPlanFailed} {
		c.set(status, kind, kind == p.problem, p.reason, p.message)
	}
	reason, message := p.reason, p.message
	if p.approval != "" {
		reason, message = ReasonRequiresApproval, p.approval
	}
	c.set(status, conditionPending, p.approval != "" || p.problem == conditionPending, reason, message)
	c.deprecated(of, p.warnings)
	if !equality.Semantic.DeepEqual(before, status) || status.LastUpdated == nil {
		now := metav1.NewTime(c.Clock.Now()).Rfc3339Copy()
		status.LastUpdated = &now
	}
	return nil
}

// deprecations are the conditions for what the catalog says about the package, the channel and the version.
var deprecations = map[string]string{
	resolve.SchemaPackage: "PackageDeprecated", resolve.SchemaChannel: "ChannelDeprecated", resolve.SchemaBundle: "BundleDeprecated",
}

// deprecated reports what the catalog says about the package, the channel and the version, each in a condition and all in another one. A
// Subscription without a channel does not depend on the one that its version is from.
func (c *Composer) deprecated(of *v1alpha1.Subscription, warnings []resolve.Warning) {
	messages := map[string]string{}
	var all []string
	for _, one := range warnings {
		if one.Schema == resolve.SchemaChannel && of.Spec.Channel == "" {
			continue
		}
		messages[deprecations[one.Schema]] = one.Message
		all = append(all, one.Sentence)
	}
	if len(all) > 0 {
		messages[conditionDeprecated] = strings.Join(all, "; ")
	}
	for _, kind := range []string{conditionDeprecated, "PackageDeprecated", "ChannelDeprecated", "BundleDeprecated"} {
		c.set(&of.Status, kind, messages[kind] != "", conditionDeprecated, messages[kind])
	}
}

func (c *Composer) set(status *v1alpha1.SubscriptionStatus, kind string, is bool, reason, message string) {
	if !is {
		meta.RemoveStatusCondition(&status.Problems, kind)
		return
	}
	meta.SetStatusCondition(&status.Problems, metav1.Condition{
		Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(c.Clock.Now()),
	})
}

// stateOf returns the state: whether the installed version is the one that was chosen.
func stateOf(of *v1alpha1.Subscription, p *pass) string {
	switch {
	case p.chosen == "":
		return ""
	case p.chosen == p.installed && p.problem == "":
		return v1alpha1.StateAtLatestKnown
	case p.reason == string(resolve.RolledBack):
		return v1alpha1.StateUpgradeFailed
	case p.chosen == p.installed && (p.reason == string(resolve.Unsatisfiable) || p.reason == string(resolve.UnusableBundles)):
		return v1alpha1.StateUpgradeAvailable
	case p.chosen == p.installed:
		return of.Status.State
	}
	return v1alpha1.StateUpgradePending
}

func reference(object client.Object, kind string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
	}
}

func lastConnect(source *v1alpha1.CatalogSource) *metav1.Time {
	if source.Status.ConnectionState == nil {
		return nil
	}
	return source.Status.ConnectionState.LastConnect
}
