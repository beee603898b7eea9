// Package subscription manages Subscriptions: it resolves the versions of the packages of a namespace and their dependencies, and makes an
// InstallPlan for each version that has to be installed.
package subscription

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/olm/resolve"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/catalogs"
	"github.com/operon-framework/operon/olm/internal/group"
	"github.com/operon-framework/operon/olm/internal/installplan"
	"github.com/operon-framework/operon/olm/internal/passes"
)

// Reasons of the Ready condition of a Subscription, and types of its other conditions. The reasons of a resolution are in package resolve.
const (
	ReasonRequiresApproval = "RequiresApproval"
	ReasonInstalling       = "Installing"
	reasonUnknown          = "NotListedYet" // the list of Subscriptions is older than the Subscription
	conditionResolution    = "ResolutionFailed"
	conditionUnhealthy     = "CatalogSourcesUnhealthy"
	conditionPending       = "InstallPlanPending"
	conditionPlanFailed    = "InstallPlanFailed"
	conditionDeprecated    = "Deprecated"
)

// Composer manages Subscriptions.
type Composer struct {
	Clock    clock.PassiveClock
	Catalogs *catalogs.Catalogs
	// Global is the namespace whose catalogs all namespaces can use.
	Global string

	passes passes.Store[pass]

	mu      sync.Mutex
	results map[string]resolved
}

// pass is what one reconcile found out, from Compose to Observe.
type pass struct {
	// complete means that Compose did not fail. Otherwise the status stays as it is.
	complete bool
	health   []v1alpha1.CatalogHealth
	// chosen is the version that is installed next, or is installed.
	chosen string
	// installed is the version that exists in the namespace.
	installed string
	// plan is the InstallPlan that installs the chosen version, or nil.
	plan *v1alpha1.InstallPlan
	// approval is the message about a plan that waits for approval, perhaps beside a problem. It is empty if none does.
	approval string
	// problem is the type of the condition that says why nothing is chosen.
	problem, reason, message string
	// rolledBack are the versions that are not installed again.
	rolledBack []v1alpha1.RolledBack
	// warnings are the deprecations of the package, the channel and the version.
	warnings []resolve.Warning
}

// stop records why nothing is chosen. What is installed stays.
func (p *pass) stop(out *operon.Composition, problem, reason, message string) {
	p.problem, p.reason, p.message = problem, reason, message
	out.Wait(reason, message)
}

// Compose implements operon.Composer. The InstallPlan of the version that is chosen is a child. It stays until another version is chosen.
func (c *Composer) Compose(ctx context.Context, of *v1alpha1.Subscription, out *operon.Composition) (failed error) {
	p := c.passes.Begin(of, &pass{installed: of.Status.InstalledCSV, chosen: of.Status.CurrentCSV})
	defer func() { p.complete = failed == nil }()
	n, err := c.namespaceOf(ctx, of.Namespace, out)
	if err != nil {
		return err
	}
	if n.loading {
		out.RequeueAfter(time.Second)
	}
	p.health, p.rolledBack = n.health, n.givenUp(of)
	groups, err := group.In(ctx, out, of.Namespace)
	if err != nil {
		return err
	}
	if text := installplan.Reserved(groups, of); text != "" { // else it would take over the version, and a plan could not upgrade it
		p.stop(out, conditionResolution, installplan.ReasonExtension, text)
		return nil
	}
	result, err := c.resolve(n)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(result.Subscriptions, func(o resolve.Outcome) bool { return o.Subscription == of.Name })
	if i < 0 {
		out.Wait(reasonUnknown, "waits until the list of Subscriptions has this one")
		out.RequeueAfter(time.Second)
		return nil
	}
	outcome := n.inOrder(of, result.Subscriptions[i])
	p.installed, p.chosen, p.warnings = outcome.Installed, cmp.Or(n.pending[of.Name], outcome.Installed), outcome.Warnings
	if outcome.Action == resolve.Blocked {
		problem := conditionResolution
		if outcome.Reason == resolve.CatalogNotFound || outcome.Reason == resolve.CatalogUnavailable {
			problem = conditionUnhealthy
		}
		if outcome.Reason == resolve.RolledBack { // the version before works, and nothing is missing
			c.keep(of, n, outcome, out, p)
			p.problem, p.reason, p.message = problem, string(outcome.Reason), outcome.Message
			out.Warning(p.reason, p.message)
			return nil
		}
		p.stop(out, problem, string(outcome.Reason), outcome.Message)
		return nil
	}
	if outcome.Action == resolve.Keep {
		c.keep(of, n, outcome, out, p)
	} else if err := c.install(ctx, of, n, outcome, out, p); err != nil {
		return err
	}
	approved := p.plan != nil && p.plan.Spec.Approved || p.plan == nil && outcome.Action == resolve.Keep
	if p.approval != "" || approvalOf(of) == v1alpha1.Manual && !approved {
		return nil // before the approval, no dependency is installed either
	}
	return c.dependencies(of, result.Additions, cmp.Or(outcome.Bundle.Name, outcome.Installed), out)
}

// install declares the plan for a version. A plan is for one content: when the catalog has another bundle for the name, there is another
// plan.
func (c *Composer) install(ctx context.Context, of *v1alpha1.Subscription, n *namespace, outcome resolve.Outcome, out *operon.Composition, p *pass) error {
	next := outcome.Bundle
	p.chosen = next.Name
	source := next.Catalog.String()
	image := ""
	if loaded := n.loaded[next.Catalog]; loaded != nil {
		image = loaded.Image(next.Name)
	}
	wanted := n.planFor(of, next.Name, source, image, outcome.Installed)
	live := wanted.DeepCopy()
	found, err := out.Get(ctx, live)
	if err != nil {
		return err
	}
	granting := c.takeOver(of, n, outcome.Installed, out)
	for _, before := range n.plansOf(of) {
		if n.isRolledBack(before) {
			keepPlan(of, before, out)
			continue
		}
		if before.Name == wanted.Name || slices.Contains(granting, before.Name) || !slices.Contains(before.Spec.ClusterServiceVersionNames, p.installed) {
			continue
		}
		switch {
		case before.Status.Phase == v1alpha1.PlanComplete:
			keepPlan(of, before, out) // it may not have granted all permissions of the installed version yet
		case before.Status.Phase == v1alpha1.PlanFailed && !live.Spec.Approved:
			keepPlan(of, before, out) // what it has not written is still missing when somebody removes the cause
		}
	}
	if found && live.Status.Phase == v1alpha1.PlanComplete && n.exist[next.Name] == nil {
		// The plan is not declared, and so deleted. Then the same one is made again. With out.Wait, it would stay.
		p.problem, p.reason, p.message = conditionPending, ReasonInstalling, fmt.Sprintf("%s was deleted: a new InstallPlan installs it again", next.Name)
		return nil
	}
	out.Child(declared(wanted, of.Spec.Package, next.Name, approvalOf(of)))
	if !found {
		p.begins(wanted, next.Name)
		return nil
	}
	p.report(live, out)
	return nil
}

// begins reports a plan that does not exist yet.
func (p *pass) begins(plan *v1alpha1.InstallPlan, version string) {
	p.plan, p.problem, p.reason = plan, conditionPending, ReasonInstalling
	p.message = fmt.Sprintf("the InstallPlan %s installs %s", plan.Name, version)
}

// report reports a plan that is not complete. A complete one does not take its place.
func (p *pass) report(plan *v1alpha1.InstallPlan, out *operon.Composition) {
	if plan.Status.Phase == v1alpha1.PlanComplete && p.problem != "" {
		return
	}
	p.plan = plan
	switch plan.Status.Phase {
	case v1alpha1.PlanComplete:
	case v1alpha1.PlanFailed:
		p.stop(out, conditionPlanFailed, "InstallComponentFailed", plan.Status.Message)
	case v1alpha1.PlanRequiresApproval:
		p.approval = fmt.Sprintf("the InstallPlan %s waits for spec.approved", plan.Name)
		p.stop(out, conditionPending, ReasonRequiresApproval, p.approval)
	default:
		p.stop(out, conditionPending, ReasonInstalling, fmt.Sprintf("the InstallPlan %s installs %s", plan.Name, strings.Join(plan.Spec.ClusterServiceVersionNames, ", ")))
	}
}

// keep declares the plans that work, and those of the installed version and of the one that takes over, as they are, so that they stay: the
// permissions of a version come from its plan. They are found by their content, because the status may have been lost when the manager was
// killed.
func (c *Composer) keep(of *v1alpha1.Subscription, n *namespace, outcome resolve.Outcome, out *operon.Composition, p *pass) {
	others := append(c.restore(of, n, outcome, out), c.takeOver(of, n, outcome.Installed, out)...)
	for _, live := range n.plansOf(of) {
		names := live.Spec.ClusterServiceVersionNames
		if n.isRolledBack(live) {
			keepPlan(of, live, out)
			continue
		}
		if live.Status.Phase == v1alpha1.PlanComplete && !slices.Contains(names, p.installed) && !slices.Contains(names, p.chosen) {
			continue
		}
		if !slices.Contains(others, live.Name) {
			keepPlan(of, live, out)
		}
		p.report(live, out)
	}
	n.resume(of, out, p)
}

// resume declares another plan for a version that exists and has never worked, if that of the version was deleted, such as because the catalog has
// another bundle for it: nothing else writes the rest.
func (n *namespace) resume(of *v1alpha1.Subscription, out *operon.Composition, p *pass) {
	csv, loaded := n.exist[p.chosen], n.loaded[keyOf(of)]
	if csv == nil || !installplan.Wrote(csv) || phase.Worked(&csv.Status) || loaded == nil || loaded.PackageOf(csv.Name) == "" ||
		slices.ContainsFunc(n.plans, func(one v1alpha1.InstallPlan) bool {
			return slices.Contains(one.Spec.ClusterServiceVersionNames, csv.Name)
		}) {
		return
	}
	wanted := n.planFor(of, csv.Name, keyOf(of).String(), loaded.Image(csv.Name), csv.Spec.Replaces)
	out.Child(declared(wanted, of.Spec.Package, csv.Name, approvalOf(of)))
	p.begins(wanted, csv.Name)
}

// plansOf returns the plans of a Subscription.
func (n *namespace) plansOf(of *v1alpha1.Subscription) []*v1alpha1.InstallPlan {
	var all []*v1alpha1.InstallPlan
	for i := range n.plans {
		if live := &n.plans[i]; live.Labels[plan.OwnerLabel] == string(of.UID) && len(live.Spec.ClusterServiceVersionNames) > 0 {
			all = append(all, live)
		}
	}
	return all
}

// inOrder keeps the installed version while its plan still writes objects: the next version and its dependencies wait. Nothing would write the
// rest if the plan was deleted and the next version was never approved.
func (n *namespace) inOrder(of *v1alpha1.Subscription, outcome resolve.Outcome) resolve.Outcome {
	ended := []v1alpha1.InstallPlanPhase{v1alpha1.PlanComplete, v1alpha1.PlanFailed, v1alpha1.PlanPlanning}
	writes := slices.ContainsFunc(n.plansOf(of), func(one *v1alpha1.InstallPlan) bool {
		return one.Spec.Approved && !slices.Contains(ended, one.Status.Phase) && slices.Contains(one.Spec.ClusterServiceVersionNames, outcome.Installed)
	})
	if writes && (outcome.Action == resolve.Install || outcome.Action == resolve.Upgrade) {
		outcome.Action, outcome.Bundle = resolve.Keep, resolve.Choice{}
	}
	return outcome
}

// generation returns the generation of a plan: that of the plan if it exists, or else the next one.
func (n *namespace) generation(of *v1alpha1.Subscription, name string) int {
	last := 0
	if ref := of.Status.InstallPlanRef; ref == nil || ref.Name != name {
		last = of.Status.InstallPlanGeneration
	}
	for i := range n.plans {
		if n.plans[i].Name == name {
			return n.plans[i].Spec.Generation
		}
		last = max(last, n.plans[i].Spec.Generation)
	}
	return last + 1
}

func keepPlan(of *v1alpha1.Subscription, live *v1alpha1.InstallPlan, out *operon.Composition) {
	kept := map[string]string{}
	for _, key := range []string{installplan.AnnotationBundles, installplan.AnnotationReplaces, installplan.AnnotationRestores, installplan.AnnotationTakesOver} {
		if value := live.Annotations[key]; value != "" {
			kept[key] = value
		}
	}
	wanted := planOf(live.Namespace, live.Name, kept)
	wanted.Spec.Generation = live.Spec.Generation
	out.Child(declared(wanted, of.Spec.Package, live.Spec.ClusterServiceVersionNames[0], live.Spec.Approval))
}

// planName returns the name of a plan for one content.
func planName(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "install-" + hex.EncodeToString(sum[:4])
}

func approvalOf(of *v1alpha1.Subscription) v1alpha1.Approval {
	return cmp.Or(of.Spec.InstallPlanApproval, v1alpha1.Automatic)
}

func planOf(namespace, name string, annotations map[string]string) *v1alpha1.InstallPlan {
	return &v1alpha1.InstallPlan{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "InstallPlan"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations},
	}
}

// planFor returns the plan for a version that replaces another one, if that is not empty.
func (n *namespace) planFor(of *v1alpha1.Subscription, version, source, image, replaces string) *v1alpha1.InstallPlan {
	wanted := planOf(of.Namespace, planName(of.Name, version, source, image, replaces), map[string]string{installplan.AnnotationBundles: version + "=" + source})
	if replaces != "" {
		wanted.Annotations[installplan.AnnotationReplaces] = replaces
	}
	wanted.Spec.Generation = n.generation(of, wanted.Name)
	return wanted
}

// declared returns a plan for a version of a package, with the fields that the Subscription sets. spec.approved of a plan that waits for approval belongs to the person
// who approves it.
func declared(of *v1alpha1.InstallPlan, pkg, version string, approval v1alpha1.Approval) client.Object {
	spec := map[string]any{"clusterServiceVersionNames": []any{version}, "approval": string(approval)}
	if of.Spec.Generation > 0 { // plans of older managers have none
		spec["generation"] = int64(of.Spec.Generation)
	}
	if approval == v1alpha1.Automatic {
		spec["approved"] = true
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(of.GroupVersionKind())
	object.SetNamespace(of.Namespace)
	object.SetName(of.Name)
	object.SetAnnotations(of.Annotations)
	object.SetLabels(map[string]string{render.ComponentLabel(pkg, of.Namespace): ""})
	return object
}

// dependencies declares Subscriptions for what the version needs, directly or through other dependencies, with the same approval. Those that exist
// are no additions, and keep theirs. They stay when the Subscription is deleted: other operators may need them, too.
func (c *Composer) dependencies(of *v1alpha1.Subscription, additions []resolve.Addition, version string, out *operon.Composition) error {
	needed := map[string]bool{version: true}
	for _, addition := range additions { // each comes after what needs it
		if !slices.ContainsFunc(addition.NeededBy, func(name string) bool { return needed[name] }) {
			continue
		}
		needed[addition.Bundle.Name] = true
		wanted := addition.Subscription
		out.Child(&v1alpha1.Subscription{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Subscription"},
			ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: wanted.Name, Annotations: map[string]string{v1alpha1.AnnotationDependencyOf: of.Name}},
			Spec: v1alpha1.SubscriptionSpec{
				CatalogSource: wanted.Catalog.Name, CatalogSourceNamespace: wanted.Catalog.Namespace, Package: wanted.Package, Channel: wanted.Channel,
				StartingCSV: wanted.StartingCSV, InstallPlanApproval: approvalOf(of),
			},
		}, operon.Orphan(), operon.ReadyWhen(func(*v1alpha1.Subscription) (bool, string) { return true, "" }))
	}
	return nil
}
