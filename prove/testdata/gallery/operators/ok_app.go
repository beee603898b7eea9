package operators

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: every reconcile keeps every child, whatever was before, and reports last.
var okApp = Operator{
	Name: "ok-app", Correct: true,
	About: "keeps ConfigMap, Deployment and Service up to date on every reconcile, and restarts the program when its Secret changes",
	CRDs:  apps, Samples: "config/samples/app.yaml", Role: "config/rbac/app.yaml",
	Setup: func(m ctrl.Manager) error {
		return build(m, "ok-app", &api.App{}, appKinds()...).
			Watches(&corev1.Secret{}, appsOf(m.GetClient())).
			Complete(reconcile.AsReconciler(m.GetClient(), &wholeApp{m.GetClient()}))
	},
}

// wholeApp does all that there is to be done for an App. Others begin with it.
type wholeApp struct{ client.Client }

// Reconcile implements reconcile.ObjectReconciler.
func (r *wholeApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	if err := keepConfig(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	d, err := keepDeployment(ctx, r, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	return finishApp(ctx, r, app, d)
}
