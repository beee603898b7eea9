package operators

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: Ready is said as soon as the Deployment is written, whatever its pods do.
var readyLie = Operator{
	Name:  "ready-lie",
	About: "reports Ready without checking the pods",
	Model: "a status that does not reflect the actual state",
	Class: finding.Lie, Property: finding.Truthful,
	Needs: []Need{Fail}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ready-lie", &hastyApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type hastyApp struct{ client.Client }

func (r *hastyApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	if err := keepConfig(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	if _, err := keepDeployment(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	if err := keepService(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	changed := meta.SetStatusCondition(&app.Status.Conditions, readiness(app, true, "Deployed"))
	if !changed && app.Status.ObservedGeneration == app.Generation {
		return ctrl.Result{}, nil
	}
	app.Status.ObservedGeneration = app.Generation
	return ctrl.Result{}, r.Status().Update(ctx, app)
}
