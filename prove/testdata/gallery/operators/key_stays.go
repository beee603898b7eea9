package operators

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the keys of the App's files are copied into the ConfigMap one by one. A key that the App has
// no longer stays there.
var keyStays = Operator{
	Name:  "key-stays",
	About: "adds and changes keys of a ConfigMap but removes none",
	Model: "Acto, a removed map entry that stays",
	Class: finding.Misoperation, Property: finding.SameFresh,
	Needs: []Need{Change}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "key-stays", &addingApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type addingApp struct{ client.Client }

func (r *addingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	config := &corev1.ConfigMap{ObjectMeta: named(app, "")}
	err := keep(ctx, r, app, config, func() { config.Data = with(config.Data, app.Spec.Config) })
	if err != nil {
		return ctrl.Result{}, err
	}
	d, err := keepDeployment(ctx, r, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	return finishApp(ctx, r, app, d)
}
