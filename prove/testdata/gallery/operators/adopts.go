package operators

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the Secret that the user names is made the App's own. When the App is deleted, so is the user's Secret.
var adopts = Operator{
	Name:  "adopts",
	About: "makes itself the owner of a Secret of the user",
	Model: "wrong owner: an adopted foreign object",
	Class: finding.Leak, Property: finding.NothingForeign, Also: []finding.Property{finding.DataKept},
	Both:  "the Secret is deleted with the App that was made its owner",
	Needs: []Need{Create, Delete}, CRDs: apps, Samples: "config/samples/app.yaml",
	Setup: func(m ctrl.Manager) error {
		return build(m, "adopts", &api.App{}, appKinds()...).
			Watches(&corev1.Secret{}, appsOf(m.GetClient())).
			Complete(reconcile.AsReconciler(m.GetClient(), &adoptingApp{m.GetClient()}))
	},
}

type adoptingApp struct{ client.Client }

func (r *adoptingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if app.Spec.SecretName != "" && !going(app) {
		if err := r.adopt(ctx, app); err != nil {
			return ctrl.Result{}, err
		}
	}
	whole := wholeApp{r.Client}
	return whole.Reconcile(ctx, app)
}

// adopt sees to it that there is the Secret that the App names.
func (r *adoptingApp) adopt(ctx context.Context, app *api.App) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Spec.SecretName}}
	_, err := controllerutil.CreateOrUpdate(ctx, r, secret, func() error {
		secret.Labels = with(secret.Labels, labels(app))
		return controllerutil.SetOwnerReference(app, secret, r.Scheme())
	})
	return err
}
