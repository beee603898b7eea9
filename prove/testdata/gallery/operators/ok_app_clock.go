package operators

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: each second, reads the Secrets from the API server and writes to the status when it did. It never becomes silent.
var okAppClock = Operator{
	Name: "ok-app-clock", Correct: true,
	About: "like ok-app, and each second reads the Secrets and writes the time to the status",
	CRDs:  apps, Samples: "config/samples/app.yaml", Role: "config/rbac/app.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &watchfulApp{wholeApp{m.GetClient()}, m.GetAPIReader()}
		return build(m, "ok-app-clock", &api.App{}, appKinds()...).
			Watches(&corev1.Secret{}, appsOf(m.GetClient())).
			Complete(reconcile.AsReconciler(m.GetClient(), r))
	},
}

type watchfulApp struct {
	wholeApp
	direct client.Reader
}

func (r *watchfulApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	result, err := r.wholeApp.Reconcile(ctx, app)
	if err != nil || going(app) {
		return result, err
	}
	if checked, err := time.Parse(time.RFC3339Nano, app.Status.Checked); err == nil && time.Since(checked) < time.Second {
		return ctrl.Result{RequeueAfter: time.Second - time.Since(checked)}, nil
	}
	if err := r.direct.List(ctx, &corev1.SecretList{}, client.InNamespace(app.Namespace)); err != nil {
		return ctrl.Result{}, err
	}
	app.Status.Checked = time.Now().Format(time.RFC3339Nano)
	return ctrl.Result{RequeueAfter: time.Second}, r.Status().Update(ctx, app)
}
