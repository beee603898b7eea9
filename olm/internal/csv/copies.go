package csv

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// Originals selects the ClusterServiceVersions that are not copies.
func Originals() labels.Selector {
	without, err := labels.NewRequirement(v1alpha1.LabelCopiedFrom, selection.DoesNotExist, nil)
	if err != nil {
		panic(err) // the label is a constant
	}
	return labels.NewSelector().Add(*without)
}

// SetupCopies adds a reconciler that deletes copies of ClusterServiceVersions, which another lifecycle manager has made.
func SetupCopies(manager ctrl.Manager) error {
	copied := predicate.NewPredicateFuncs(func(object client.Object) bool {
		csv, is := object.(*v1alpha1.ClusterServiceVersion)
		return is && csv.Copied()
	})
	c := copies{manager.GetClient(), manager.GetAPIReader()}
	return ctrl.NewControllerManagedBy(manager).Named("copied-csvs").
		WithOptions(controller.Options{SkipNameValidation: new(true)}). // a test runs several managers in a process
		For(&v1alpha1.ClusterServiceVersion{}, builder.WithPredicates(copied)).
		Watches(&v1alpha1.ClusterServiceVersion{}, handler.EnqueueRequestsFromMapFunc(c.of), builder.WithPredicates(predicate.Not(copied))).
		Complete(c)
}

// finalizer is on every version that this manager has installed: it has a Finalize method.
const finalizer = "operon.dev/cleanup"

type copies struct {
	client.Client
	reader client.Reader
}

// of returns the copies of a version.
func (c copies) of(ctx context.Context, object client.Object) (all []ctrl.Request) {
	var list v1alpha1.ClusterServiceVersionList
	if err := c.List(ctx, &list, client.MatchingLabels{v1alpha1.LabelCopiedFrom: object.GetNamespace()}); err != nil {
		return nil // the cache is not ready: all copies are reconciled when it is
	}
	for i := range list.Items {
		if list.Items[i].Name == object.GetName() {
			all = append(all, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return all
}

// Reconcile deletes a copy if its version is gone, or if this manager has granted the permissions of the version: those that another manager
// granted in the namespace of the copy are deleted with it.
func (c copies) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := c.Get(ctx, request.NamespacedName, csv); err != nil || !csv.Copied() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if controllerutil.ContainsFinalizer(csv, finalizer) {
		return ctrl.Result{}, c.unlabel(ctx, csv)
	}
	original := &v1alpha1.ClusterServiceVersion{}
	err := c.reader.Get(ctx, client.ObjectKey{Namespace: csv.Labels[v1alpha1.LabelCopiedFrom], Name: csv.Name}, original)
	if err != nil && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, err
	}
	if err == nil && (original.Status.PermissionsDigest == "" || !meta.IsStatusConditionTrue(original.Status.Report.Conditions, condition.Ready)) {
		return ctrl.Result{}, nil
	}
	if controllerutil.ContainsFinalizer(csv, v1alpha1.FinalizerOLM) {
		before := csv.DeepCopy()
		controllerutil.RemoveFinalizer(csv, v1alpha1.FinalizerOLM)
		if err := c.Patch(ctx, csv, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if err := c.Delete(ctx, csv, client.Preconditions{UID: &csv.UID}); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("delete the copy %s: %w", request.NamespacedName, err)
	}
	return ctrl.Result{}, nil
}

// unlabel removes the label of a copy from a version that is installed: with it, nothing would reconcile the version.
func (c copies) unlabel(ctx context.Context, csv *v1alpha1.ClusterServiceVersion) error {
	before := csv.DeepCopy()
	delete(csv.Labels, v1alpha1.LabelCopiedFrom)
	if err := c.Patch(ctx, csv, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the label %s from %s: %w", v1alpha1.LabelCopiedFrom, client.ObjectKeyFromObject(csv), err)
	}
	return nil
}
