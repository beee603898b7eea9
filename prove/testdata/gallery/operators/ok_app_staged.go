package operators

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: the Service follows when all pods are ready, and the phase in the status says how far it is. The next phase follows
// from the objects, not from the phase.
var okAppStaged = Operator{
	Name: "ok-app-staged", Correct: true,
	About: "creates the Service when the Deployment is ready, and reports phases",
	CRDs:  apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-app-staged", &stagedApp{wholeApp{m.GetClient()}}, &api.App{}, appKinds()...)
	},
}

type stagedApp struct{ wholeApp }

func (r *stagedApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
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
	if !deployed(d) {
		return ctrl.Result{}, r.reach(ctx, app, "Deploying", func() error { return reportApp(ctx, r, app, d) })
	}
	return ctrl.Result{}, r.reach(ctx, app, "Running", func() error {
		_, err := finishApp(ctx, r, app, d)
		return err
	})
}

// reach does what belongs to a phase. The phase is reported with the rest of the status, after it.
func (r *stagedApp) reach(ctx context.Context, app *api.App, phase string, do func() error) error {
	if app.Status.Phase == phase {
		return do()
	}
	app.Status.Phase = phase
	app.Status.ObservedGeneration = 0 // so that the status is written
	return do()
}
