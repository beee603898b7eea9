package csv

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/plan"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/installplan"
)

// permissions declares the ServiceAccounts and permissions of an operator, if a plan granted them. Whoever creates or changes a
// ClusterServiceVersion cannot grant permissions: a plan takes them from the bundle and records their digest, in a status that only the
// manager writes. Nothing is granted while the version before must not be replaced: its operator may have the same ServiceAccount.
func (n *neighbors) permissions(ctx context.Context, out *operon.Composition, group render.Group, problem phase.Problem, held bool, p *pass) error {
	p.granted = n.csv.Status.PermissionsDigest
	if held {
		out.Partial()
		return nil
	}
	digest, err := render.PermissionsDigest(n.csv)
	if err != nil {
		return err
	}
	former, err := contents.FormerDigests(n.csv)
	if err != nil {
		return err
	}
	if slices.Contains(former, p.granted) {
		p.granted = digest
	}
	if p.granted != digest {
		granted, pending, err := n.planned(ctx, out, append(former, digest))
		if err != nil {
			return err
		}
		if !granted {
			p.changed = p.granted != ""
			if pending || p.granted != "" {
				out.Partial() // permissions that were granted before stay
			}
			return nil
		}
		p.granted = digest
	}
	if problem.Reason != "" {
		return nil // nothing is pruned either
	}
	live := existing{objects: map[string]metav1.PartialObjectMetadata{}, next: map[string]bool{}}
	if err := n.live(ctx, out, corev1.SchemeGroupVersion.WithKind("ServiceAccount"), live.objects); err != nil {
		return err
	}
	if n.handsOver() {
		for _, one := range render.Permissions(n.after, group) {
			if _, is := one.(*corev1.ServiceAccount); is {
				live.next[keyOf(one)] = true
			}
		}
	}
	absent := group.Absent
	group.Absent = nil
	for _, object := range render.Permissions(n.csv, group) {
		if slices.Contains(absent, object.GetNamespace()) {
			_, exists, err := installplan.Live(ctx, out, object)
			if err != nil {
				return err
			}
			if !exists {
				continue // nothing can be created in a namespace that is being deleted; what it has stays until the operator's work there is done
			}
		}
		if _, is := object.(*corev1.ServiceAccount); !is {
			out.Child(object)
			continue
		}
		foreign, err := n.foreign(ctx, out, object)
		if err == nil && n.unsettled() {
			err = n.find(ctx, out, object, live.objects)
		}
		if err != nil {
			return err
		}
		if !foreign {
			n.shared(out, object, live)
		}
	}
	return nil
}

// planned reports whether a plan of the namespace grants permissions with one of the digests to the operator, and if none does, whether one may do
// so again. A plan does not while it cannot be carried out, for example because a manager that was just started has not read its catalog yet.
func (n *neighbors) planned(ctx context.Context, out *operon.Composition, digests []string) (granted, pending bool, err error) {
	plans, err := installplan.Of(ctx, out, n.csv.Namespace, n.csv.Name)
	if err != nil {
		return false, false, err
	}
	for _, one := range plans {
		if one.Status.Phase != v1alpha1.PlanInstalling && one.Status.Phase != v1alpha1.PlanComplete {
			pending = true
			continue
		}
		for _, lookup := range one.Status.BundleLookups {
			if lookup.Identifier == n.csv.Name && slices.Contains(digests, lookup.PermissionsDigest) {
				return true, false, nil
			}
		}
	}
	return false, pending, nil
}

// foreign reports whether a ServiceAccount was made by somebody else, or for another operator. It is used as it is, and stays when the operator
// is removed.
func (n *neighbors) foreign(ctx context.Context, out *operon.Composition, account client.Object) (bool, error) {
	live, found, err := installplan.Live(ctx, out, account)
	return found && live.Labels[plan.OwnerLabel] != string(n.csv.UID) && !n.ours(live), err
}
