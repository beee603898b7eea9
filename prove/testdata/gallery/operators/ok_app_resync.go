package operators

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: looks again every second, into its caches. That costs the API server nothing.
var okAppResync = Operator{
	Name: "ok-app-resync", Correct: true,
	About: "like ok-app, and checks its caches again every second",
	CRDs:  apps, Samples: "config/samples/app.yaml", Role: "config/rbac/app.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &resyncedApp{wholeApp{m.GetClient()}}
		return build(m, "ok-app-resync", &api.App{}, appKinds()...).
			Watches(&corev1.Secret{}, appsOf(m.GetClient())).
			Complete(reconcile.AsReconciler(m.GetClient(), r))
	},
}

type resyncedApp struct{ wholeApp }

func (r *resyncedApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if _, err := r.wholeApp.Reconcile(ctx, app); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: time.Second}, nil
}
