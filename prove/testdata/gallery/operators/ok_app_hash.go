package operators

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: the ConfigMap's name follows from its content, and those of earlier configurations are removed: those
// that the App owns, whatever labels others have.
var okAppHash = Operator{
	Name: "ok-app-hash", Correct: true,
	About: "names its ConfigMap after a hash of the content, and deletes earlier ones",
	CRDs:  apps, Samples: "config/samples/app-shared.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-app-hash", &hashedApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type hashedApp struct{ client.Client }

func (r *hashedApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	config := hashedConfig(app)
	if err := keep(ctx, r, app, config, func() { config.Data = app.Spec.Config }); err != nil {
		return ctrl.Result{}, err
	}
	d, err := keepDeployment(ctx, r, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.prune(ctx, app, config.Name); err != nil {
		return ctrl.Result{}, err
	}
	return finishApp(ctx, r, app, d)
}

// prune removes the ConfigMaps of earlier configurations.
func (r *hashedApp) prune(ctx context.Context, app *api.App, current string) error {
	list := &corev1.ConfigMapList{}
	if err := r.List(ctx, list, client.InNamespace(app.Namespace)); err != nil {
		return err
	}
	for _, config := range list.Items {
		if config.Name == current || !metav1.IsControlledBy(&config, app) {
			continue
		}
		if err := r.Delete(ctx, &config, client.Preconditions{UID: ptr.To(config.UID)}); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
