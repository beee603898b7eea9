package operators

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: changes of the Deployment's status do not trigger it. It looks again after four seconds, later than the pods are ready.
var okAppSlow = Operator{
	Name: "ok-app-slow", Correct: true,
	About: "like ok-app, and checks only every four seconds whether the pods are ready",
	CRDs:  apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return build(m, "ok-app-slow", &api.App{}, &corev1.Service{}, &corev1.ConfigMap{}).
			Owns(&appsv1.Deployment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
			Complete(reconcile.AsReconciler(m.GetClient(), &slowApp{wholeApp{m.GetClient()}}))
	},
}

type slowApp struct{ wholeApp }

func (r *slowApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if _, err := r.wholeApp.Reconcile(ctx, app); err != nil || going(app) {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: 4 * time.Second}, nil
}
