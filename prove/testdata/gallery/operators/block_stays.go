package operators

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the Service is kept while the App asks for one. When the App does no longer, nobody removes it.
var blockStays = Operator{
	Name:  "block-stays",
	About: "leaves the Service when the optional block that requested it is removed",
	Model: "Acto, a removed optional block that stays",
	Class: finding.Misoperation, Property: finding.SameFresh,
	Needs: []Need{Change}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "block-stays", &servedApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type servedApp struct{ client.Client }

func (r *servedApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
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
	if app.Spec.Service != nil {
		if err := keepService(ctx, r, app); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, reportApp(ctx, r, app, d)
}
