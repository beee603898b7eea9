package csv

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
)

// rollBack adds to the facts the version that works again if this one does not become available, if the Subscription asks for it. The kinds
// stay as this version has them, so that no stored object is lost. They must still serve the API versions that the version before needs.
func (n *neighbors) rollBack(ctx context.Context, out *operon.Composition, facts *phase.Facts) error {
	if n.before == nil || n.after != nil || n.before.Status.Phase != v1alpha1.PhaseReplacing || phase.RolledBack(n.before) || n.before.DeletionTimestamp != nil {
		return nil
	}
	of, err := n.subscription(ctx, out)
	if err != nil || of == nil || of.Annotations[v1alpha1.AnnotationRollback] != "true" {
		return err
	}
	lacks, err := unserved(ctx, out, n.before)
	if err != nil {
		return err
	}
	if lacks != "" {
		if n.csv.Status.Phase == v1alpha1.PhaseFailed {
			out.Warning("NotRolledBack", lacks)
		}
		return nil
	}
	facts.RollBack = n.before.Name
	if began := n.before.Status.LastTransitionTime; began != nil {
		facts.Began = began.Time
	}
	return nil
}

// unserved returns which kind that a version provides is not served any more, or an empty string.
func unserved(ctx context.Context, out *operon.Composition, csv *v1alpha1.ClusterServiceVersion) (string, error) {
	for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: owned.Name}}
		found, err := out.Get(ctx, crd)
		if err != nil {
			return "", err
		}
		if !found || !slices.ContainsFunc(crd.Spec.Versions, func(one apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return one.Name == owned.Version && one.Served
		}) {
			return fmt.Sprintf("%s cannot work again: the cluster does not serve %s of the CustomResourceDefinition %s", csv.Name, owned.Version, owned.Name), nil
		}
	}
	return "", nil
}

// rollbackIsRecorded reports whether the Subscription knows that this version was rolled back. Before, the version must not be deleted: the
// Subscription would install it again.
func (n *neighbors) rollbackIsRecorded(ctx context.Context, out *operon.Composition) (bool, error) {
	of, err := n.subscription(ctx, out)
	if err != nil || of == nil {
		return err == nil, err
	}
	return slices.ContainsFunc(of.Status.RolledBack, func(one v1alpha1.RolledBack) bool { return one.Name == n.csv.Name }), nil
}
