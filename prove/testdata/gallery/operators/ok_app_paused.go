package operators

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: it leaves the children of a paused App as they are, and creates none for an App that is paused from the beginning.
var okAppPaused = Operator{
	Name: "ok-app-paused", Correct: true,
	About: "like ok-app, and does nothing for an App that is paused",
	CRDs:  apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-app-paused", &pausableApp{wholeApp{m.GetClient()}}, &api.App{}, appKinds()...)
	},
}

type pausableApp struct{ wholeApp }

func (r *pausableApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if app.Spec.Paused {
		return ctrl.Result{}, nil
	}
	return r.wholeApp.Reconcile(ctx, app)
}
