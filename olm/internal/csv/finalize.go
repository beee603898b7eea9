package csv

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	coreplan "github.com/operon-framework/operon/internal/core/plan"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/olm/internal/plan"
)

// Finalize implements operon.Finalizer. The other versions are read without a cache, which may still have a version that is gone.
func (*Composer) Finalize(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, out *operon.Finalization) error {
	var others v1alpha1.ClusterServiceVersionList
	if err := out.Client().List(ctx, &others, client.InNamespace(csv.Namespace)); err != nil {
		return err
	}
	others.Items = slices.DeleteFunc(others.Items, func(one v1alpha1.ClusterServiceVersion) bool { return one.Copied() })
	if err := endConversions(ctx, csv, others.Items, out); err != nil {
		return err
	}
	if err := deleteLeft(ctx, csv, others.Items, out.Client()); err != nil {
		return err
	}
	return deleteUnadopted(ctx, csv, others.Items, out.Client())
}

// deleteUnadopted deletes the cluster-scoped objects that a plan has written for a version which is deleted before it has adopted them.
// They have no owner that garbage collection knows. A version that replaces this one adopts them instead, and the version that this one should
// have replaced gets back what was taken from it.
func deleteUnadopted(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, others []v1alpha1.ClusterServiceVersion, in client.Client) error {
	owners := map[string]bool{string(csv.UID): true} // the runtime deletes these
	var before *v1alpha1.ClusterServiceVersion
	for i := range others {
		other := &others[i]
		if phase.Replaces(other, csv) && other.DeletionTimestamp == nil {
			return nil
		}
		if phase.Replaces(csv, other) && other.DeletionTimestamp == nil {
			before = other
		}
		owners[string(other.UID)] = true
	}
	for _, kind := range clusterKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
		// +operon:kind:group=rbac.authorization.k8s.io,resource=clusterroles
		err := in.List(ctx, list, client.MatchingLabels{
			render.LabelOwnerKind: "ClusterServiceVersion", render.LabelOwnerNamespace: csv.Namespace, render.LabelOwner: render.Labels(csv)[render.LabelOwner],
		})
		if plan.Optional(kind.GroupKind()) && (meta.IsNoMatchError(err) || apierrors.IsNotFound(err)) {
			continue // the cluster does not have the kind
		}
		if err != nil {
			return err
		}
		for i := range list.Items {
			left := &list.Items[i]
			if owners[left.Labels[coreplan.OwnerLabel]] {
				continue
			}
			if before != nil && left.Annotations[render.AnnotationTakenFrom] == before.Name {
				err = giveBack(ctx, left, before, in)
			} else {
				// +operon:kind:group=rbac.authorization.k8s.io,resource=clusterroles
				err = in.Delete(ctx, left, client.Preconditions{UID: &left.UID, ResourceVersion: &left.ResourceVersion})
			}
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("delete %s %s of %s, or give it back: %w", kind.Kind, left.Name, csv.Name, err)
			}
		}
	}
	return nil
}

// giveBack makes a version the owner of an object, in the state in which it was read. The version adopts it.
func giveBack(ctx context.Context, object *metav1.PartialObjectMetadata, to *v1alpha1.ClusterServiceVersion, in client.Client) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": object.ResourceVersion,
		"labels":          map[string]any{render.LabelOwner: render.Labels(to)[render.LabelOwner]},
		"annotations":     map[string]any{render.AnnotationTakenFrom: nil},
	}})
	if err != nil {
		return err
	}
	// +operon:kind:group=rbac.authorization.k8s.io,resource=clusterroles
	return in.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}
