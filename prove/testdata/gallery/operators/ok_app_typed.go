package operators

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: its update of the App leaves out fields that are empty, because they are marked omitempty. To the API they
// mean the same as before.
var okAppTyped = Operator{
	Name: "ok-app-typed", Correct: true,
	About: "adds its finalizer by an update with a typed client, which leaves out the empty fields of the spec",
	CRDs:  apps, Samples: "config/samples/app-empty.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-app-typed", &typedApp{wholeApp{m.GetClient()}}, &api.App{}, appKinds()...)
	},
}

const typedFinalizer = "gallery.operon.dev/typed"

type typedApp struct{ wholeApp }

func (r *typedApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		if !controllerutil.RemoveFinalizer(app, typedFinalizer) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, app))
	}
	if controllerutil.AddFinalizer(app, typedFinalizer) {
		if err := r.Update(ctx, app); err != nil {
			return ctrl.Result{}, err
		}
	}
	return r.wholeApp.Reconcile(ctx, app)
}
