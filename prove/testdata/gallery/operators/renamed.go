package operators

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the ConfigMap's name follows from its content, so that pods keep the one that they were started
// with. Nobody removes those that are no longer used.
var renamed = Operator{
	Name:  "renamed",
	About: "leaves the ConfigMaps of earlier configurations",
	Model: "orphaned children with earlier names",
	Class: finding.Leak, Property: finding.SameFresh, Also: []finding.Property{finding.Bounded, finding.SameState},
	Both:  "each change leaves one more ConfigMap",
	Needs: []Need{Change}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "renamed", &renamingApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type renamingApp struct{ client.Client }

func (r *renamingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
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
	return finishApp(ctx, r, app, d)
}
