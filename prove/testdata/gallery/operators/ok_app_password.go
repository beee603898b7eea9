package operators

import (
	"context"
	"crypto/rand"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: the password is generated if there is none, and the pods are replaced if it changes.
var okAppPassword = Operator{
	Name: "ok-app-password", Correct: true,
	About: "generates a password, and keeps its hash in the status and in the pods' annotations",
	CRDs:  apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &passwordApp{wholeApp{m.GetClient()}}
		return build(m, "ok-app-password", &api.App{}, append(appKinds(), &corev1.Secret{})...).Complete(reconcile.AsReconciler(m.GetClient(), r))
	},
}

type passwordApp struct{ wholeApp }

func (r *passwordApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	if err := keepConfig(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	secret := &corev1.Secret{ObjectMeta: named(app, "-password")}
	err := keep(ctx, r, app, secret, func() {
		if len(secret.Data["password"]) == 0 {
			secret.Data = map[string][]byte{"password": []byte(rand.Text())}
		}
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	sum := hash(secret.Data)
	d := &appsv1.Deployment{ObjectMeta: named(app, "")}
	if err := keep(ctx, r, app, d, func() { fillDeployment(d, app, sum) }); err != nil {
		return ctrl.Result{}, err
	}
	if app.Status.Checked == sum {
		return finishApp(ctx, r, app, d)
	}
	app.Status.Checked = sum
	return ctrl.Result{}, r.Status().Update(ctx, app)
}
