package operators

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: observedGeneration is set when the App is first seen, and not when it changes.
var generationForgotten = Operator{
	Name:  "generation-forgotten",
	About: "sets observedGeneration once",
	Model: "API conventions, observedGeneration; kstatus",
	Class: finding.Lie, Property: finding.Truthful, Also: []finding.Property{finding.SameFresh},
	Both:  "observedGeneration is part of the state after a change",
	Needs: []Need{Change}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "generation-forgotten", &forgetfulApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type forgetfulApp struct{ client.Client }

func (r *forgetfulApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
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
	if err := keepService(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	changed := app.Status.ReadyReplicas != d.Status.ReadyReplicas
	if app.Status.ObservedGeneration == 0 {
		app.Status.ObservedGeneration, changed = app.Generation, true
	}
	app.Status.ReadyReplicas = d.Status.ReadyReplicas
	if meta.SetStatusCondition(&app.Status.Conditions, readiness(app, deployed(d), "Deployed")) || changed {
		return ctrl.Result{}, r.Status().Update(ctx, app)
	}
	return ctrl.Result{}, nil
}
