package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: as long as the status does not say that all is installed, everything is created, and
// what exists already is an error. An operator that ends in the middle of it never gets past the
// first child again.
var existsAlready = Operator{
	Name:  "exists-already",
	About: "installs several children in one pass, and never gets past one that already exists",
	Model: "Sieve, intermediate state: a non-idempotent create of several objects",
	Class: finding.Intermediate, Property: finding.SameState, Also: []finding.Property{finding.Silent, finding.Truthful},
	Both:  "it retries the creation forever, and its status stays behind",
	Needs: []Need{Kill}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "exists-already", &installedApp{wholeApp{m.GetClient()}}, &api.App{}, appKinds()...)
	},
}

type installedApp struct{ wholeApp }

func (r *installedApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if app.Status.Phase == "Installed" || going(app) {
		return r.wholeApp.Reconcile(ctx, app)
	}
	for _, child := range r.children(app) {
		if err := controllerutil.SetControllerReference(app, child, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, child); err != nil {
			return ctrl.Result{}, err
		}
	}
	app.Status.Phase = "Installed"
	return ctrl.Result{}, r.Status().Update(ctx, app)
}

func (r *installedApp) children(app *api.App) []client.Object {
	config := &corev1.ConfigMap{ObjectMeta: named(app, ""), Data: app.Spec.Config}
	d := &appsv1.Deployment{ObjectMeta: named(app, "")}
	fillDeployment(d, app, "")
	if app.Spec.Service == nil {
		return []client.Object{config, d}
	}
	service := &corev1.Service{ObjectMeta: named(app, "")}
	fillService(service, app)
	return []client.Object{config, d, service}
}
