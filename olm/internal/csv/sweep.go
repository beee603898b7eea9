package csv

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// SetupSweeper adds a reconciler that deletes the ClusterServiceVersions that have been replaced.
func SetupSweeper(manager ctrl.Manager) error {
	replaced := predicate.NewPredicateFuncs(func(object client.Object) bool {
		csv, is := object.(*v1alpha1.ClusterServiceVersion)
		return is && csv.Status.Phase == v1alpha1.PhaseDeleting && csv.DeletionTimestamp == nil
	})
	return ctrl.NewControllerManagedBy(manager).Named("replaced-csvs").
		WithOptions(controller.Options{SkipNameValidation: new(true)}). // a test runs several managers in a process
		For(&v1alpha1.ClusterServiceVersion{}, builder.WithPredicates(replaced)).
		Complete(sweeper{manager.GetClient()})
}

type sweeper struct{ client.Client }

// Reconcile deletes a ClusterServiceVersion in the state in which it was found to be replaced.
func (s sweeper) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := s.Get(ctx, request.NamespacedName, csv); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if csv.Status.Phase != v1alpha1.PhaseDeleting || csv.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	err := s.Delete(ctx, csv, client.Preconditions{UID: &csv.UID})
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("delete the replaced %s: %w", request.NamespacedName, err)
	}
	return ctrl.Result{}, nil
}
