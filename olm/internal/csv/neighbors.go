package csv

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	v2 "github.com/operon-framework/operon/internal/olm/api/v2"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/group"
	"github.com/operon-framework/operon/olm/internal/installplan"
)

// neighbors are the other ClusterServiceVersions that matter to one.
type neighbors struct {
	csv *v1alpha1.ClusterServiceVersion
	// before is the version that it replaces, and after the one that replaces it. They are nil if they do not exist. If the upgrade from a
	// version to another one is rolled back, each is also the one after the other.
	before, after *v1alpha1.ClusterServiceVersion
	// rivals provide an API that it provides, too.
	rivals []*v1alpha1.ClusterServiceVersion
}

func neighborsOf(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, out *operon.Composition) (*neighbors, error) {
	var list v1alpha1.ClusterServiceVersionList
	if err := out.List(ctx, &list, nil, client.InNamespace(metav1.NamespaceAll), operon.Everything, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err // the manager caches all of them anyway
	}
	n := &neighbors{csv: csv}
	for i := range list.Items {
		other := &list.Items[i]
		switch {
		case other.UID == csv.UID || other.Copied():
		case phase.Replaces(csv, other):
			n.before = other
		case phase.Replaces(other, csv) && phase.RolledBack(other):
			n.before = other
		case phase.Replaces(other, csv):
			if other.DeletionTimestamp == nil && (n.after == nil || older(other, n.after)) { // of several, one takes over
				n.after = other
			}
		case provided(csv, other) != "" && works(other):
			n.rivals = append(n.rivals, other.DeepCopy())
		}
	}
	n.before, n.after = n.before.DeepCopy(), n.after.DeepCopy()
	if phase.RolledBack(csv) && n.before != nil && n.before.DeletionTimestamp == nil {
		n.after = n.before
	}
	return n, nil
}

// works reports whether a version runs, or has run: its Deployments stay while something fails or is missing, and work again when that is over. One
// that has never run, or that had to stop for another one, keeps no other from an API.
func works(csv *v1alpha1.ClusterServiceVersion) bool {
	if csv.DeletionTimestamp != nil {
		return false
	}
	switch csv.Status.Phase {
	case v1alpha1.PhaseInstallReady, v1alpha1.PhaseInstalling, v1alpha1.PhaseSucceeded, v1alpha1.PhaseReplacing:
		return true
	case v1alpha1.PhasePending, v1alpha1.PhaseFailed:
		return phase.Worked(&csv.Status) && csv.Status.Reason != phase.ReasonOwnerConflict && csv.Status.Reason != reasonGroupConflict
	}
	return false
}

// provided returns the name of a kind that two versions provide, or an empty string.
func provided(one, other *v1alpha1.ClusterServiceVersion) string {
	for _, a := range one.Spec.CustomResourceDefinitions.Owned {
		for _, b := range other.Spec.CustomResourceDefinitions.Owned {
			if a.Name == b.Name {
				return a.Name
			}
		}
	}
	for _, a := range one.Spec.APIServiceDefinitions.Owned {
		for _, b := range other.Spec.APIServiceDefinitions.Owned {
			if a.Group == b.Group && a.Version == b.Version {
				return a.Version + "." + a.Group
			}
		}
	}
	return ""
}

// conflict returns which other operator provides the same API in a namespace of the group: one that runs already. If both do, the older one
// stays.
func (n *neighbors) conflict(ctx context.Context, out *operon.Composition, own render.Group) (phase.Problem, error) {
	for _, rival := range n.rivals {
		if works(n.csv) && !older(rival, n.csv) { // both run: the older one stays
			continue
		}
		name := provided(n.csv, rival)
		if rival.Namespace == n.csv.Namespace {
			return phase.Problem{Reason: phase.ReasonOwnerConflict, Message: fmt.Sprintf("owner conflict: %s and %s both own %s", rival.Name, n.csv.Name, name)}, nil
		}
		groups, err := group.In(ctx, out, rival.Namespace)
		if err != nil {
			return phase.Problem{}, err
		}
		if len(groups) == 1 && intersect(groups[0].Status.Namespaces, own.Targets) {
			return phase.Problem{Reason: reasonGroupConflict, Message: fmt.Sprintf(
				"intersecting operatorgroups provide the same APIs: %s in the operatorgroup %s/%s provides %s", rival.Name, groups[0].Namespace, groups[0].Name, name)}, nil
		}
	}
	return phase.Problem{}, nil
}

const reasonGroupConflict = "InterOperatorGroupOwnerConflict"

// unfinished reports whether none of the plans of a version is complete. One that no plan has written was applied by hand, and needs none.
func unfinished(csv *v1alpha1.ClusterServiceVersion, plans []v1alpha1.InstallPlan) bool {
	return (len(plans) > 0 || installplan.Wrote(csv)) && !slices.ContainsFunc(plans, func(one v1alpha1.InstallPlan) bool { return one.Status.Phase == v1alpha1.PlanComplete })
}

func older(a, b client.Object) bool {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if !at.Equal(&bt) {
		return at.Before(&bt)
	}
	return a.GetNamespace()+"/"+a.GetName() < b.GetNamespace()+"/"+b.GetName()
}

// waits returns why the version that this one replaces does not step back yet, or an empty string. A version whose plan was deleted before it granted
// permissions waits too, even if that version has stepped back: the permissions of that version would be enough until it is deleted.
func (n *neighbors) waits(ctx context.Context, out *operon.Composition, granted string) (string, error) {
	if n.before == nil || n.installed() {
		return "", nil
	}
	back := n.before.Status.Phase == v1alpha1.PhaseReplacing || n.before.Status.Phase == v1alpha1.PhaseDeleting
	if back && granted != "" {
		return "", nil
	}
	plans, err := installplan.Of(ctx, out, n.csv.Namespace, n.csv.Name)
	switch {
	case err != nil:
		return "", err
	case len(plans) == 0 && unfinished(n.csv, plans):
		return fmt.Sprintf("waiting for an InstallPlan, because that of %s was deleted. If no Subscription makes another one, delete the ClusterServiceVersion", n.csv.Name), nil
	case back:
		return "", nil
	}
	return fmt.Sprintf("waiting until %s is being replaced: its phase is %s", n.before.Name, n.before.Status.Phase), nil
}

// installed reports whether this version has taken over already.
func (n *neighbors) installed() bool {
	switch n.csv.Status.Phase {
	case v1alpha1.PhaseInstalling, v1alpha1.PhaseSucceeded, v1alpha1.PhaseReplacing, v1alpha1.PhaseDeleting:
		return true
	}
	return false
}

// upgradeable returns why the version that this one replaces must not be replaced now, or an empty string.
func (n *neighbors) upgradeable(ctx context.Context, out *operon.Composition) (string, error) {
	if n.before == nil || n.installed() || phase.RolledBack(n.before) {
		return "", nil
	}
	return notUpgradeable(ctx, out, n.before)
}

// notUpgradeable returns why an operator must not be replaced, or an empty string.
func notUpgradeable(ctx context.Context, out *operon.Composition, csv *v1alpha1.ClusterServiceVersion) (string, error) {
	condition := &v2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: csv.Namespace, Name: csv.Name}}
	if _, err := out.Get(ctx, condition); err != nil {
		return "", err
	}
	return phase.NotUpgradeable(condition), nil
}

// replaced adds to the facts which version replaces this one. It does not while this one says that it is not upgradeable, or while it
// works and the plan of the other one is not complete.
func (n *neighbors) replaced(ctx context.Context, out *operon.Composition, facts *phase.Facts) error {
	if n.after == nil {
		return nil
	}
	if n.csv.Status.Phase == v1alpha1.PhaseSucceeded || n.csv.Status.Phase == v1alpha1.PhasePending {
		stays, err := notUpgradeable(ctx, out, n.csv)
		if err != nil || stays != "" {
			return err
		}
	}
	if n.csv.Status.Phase == v1alpha1.PhaseSucceeded { // one that lacks something must not keep what the plan waits for
		plans, err := installplan.Of(ctx, out, n.after.Namespace, n.after.Name)
		if err != nil || unfinished(n.after, plans) {
			return err
		}
	}
	facts.ReplacedBy, facts.ReplacementSucceeded = n.after.Name, n.after.Status.Phase == v1alpha1.PhaseSucceeded
	if facts.ReplacementSucceeded && phase.RolledBack(n.csv) {
		known, err := n.rollbackIsRecorded(ctx, out)
		facts.ReplacementSucceeded = known
		return err
	}
	return nil
}
