package operators

import (
	"context"
	"crypto/rand"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: the key is random, and exists only while the tier asks for it. The time of the last restart stays when the configuration is what it was.
var okAppKey = Operator{
	Name: "ok-app-key", Correct: true,
	About: "generates a key for each App that is not small, and restarts the pods when their files change, as kubectl rollout restart does",
	CRDs:  apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &keyedApp{wholeApp{m.GetClient()}}
		return build(m, "ok-app-key", &api.App{}, append(appKinds(), &corev1.Secret{})...).Complete(reconcile.AsReconciler(m.GetClient(), r))
	},
}

const restartedAt = "gallery.operon.dev/restartedAt"

type keyedApp struct{ wholeApp }

func (r *keyedApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	if err := keepConfig(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	secret := &corev1.Secret{ObjectMeta: named(app, "-key")}
	if err := r.keepKey(ctx, app, secret); err != nil {
		return ctrl.Result{}, err
	}
	d := &appsv1.Deployment{ObjectMeta: named(app, "")}
	if err := keep(ctx, r, app, d, func() { fillRestarted(d, app, hash(secret.Data["key"])) }); err != nil {
		return ctrl.Result{}, err
	}
	return finishApp(ctx, r, app, d)
}

func (r *keyedApp) keepKey(ctx context.Context, app *api.App, secret *corev1.Secret) error {
	if app.Spec.Tier == "small" {
		err := drop(ctx, r, app, secret)
		secret.Data = nil
		return err
	}
	return keep(ctx, r, app, secret, func() {
		if len(secret.Data["key"]) == 0 {
			secret.Data = map[string][]byte{"key": []byte(rand.Text())}
		}
	})
}

// fillRestarted is fillDeployment that adds the time of a restart when the files of a Deployment that exists change.
func fillRestarted(d *appsv1.Deployment, app *api.App, key string) {
	before := d.Spec.Template.Annotations[configHash]
	fillDeployment(d, app, key)
	if annotations := d.Spec.Template.Annotations; before != "" && before != annotations[configHash] {
		annotations[restartedAt] = time.Now().UTC().Format(time.RFC3339)
	}
}
