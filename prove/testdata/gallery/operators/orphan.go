package operators

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the Service has no owner reference. When the App is deleted, it stays.
var orphan = Operator{
	Name:  "orphan",
	About: "forgets the owner reference of the Service",
	Model: "orphaned child, in many operators",
	Class: finding.Leak, Property: finding.NothingLeft,
	Needs: []Need{Delete}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "orphan", &orphaningApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type orphaningApp struct{ client.Client }

func (r *orphaningApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
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
	if err := r.service(ctx, app); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportApp(ctx, r, app, d)
}

func (r *orphaningApp) service(ctx context.Context, app *api.App) error {
	service := &corev1.Service{ObjectMeta: named(app, "")}
	if app.Spec.Service == nil {
		return client.IgnoreNotFound(r.Delete(ctx, service))
	}
	_, err := controllerutil.CreateOrUpdate(ctx, r, service, func() error {
		service.Labels = labels(app)
		fillService(service, app)
		return nil
	})
	return err
}
