package operators

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: ConfigMaps of earlier configurations are found by a label that those of others may have, too: a
// user's is deleted.
var wideSelector = Operator{
	Name:  "wide-selector",
	About: "deletes every ConfigMap whose label has the name of the App",
	Model: "a selector that is too wide: objects of other owners are deleted",
	Class: finding.Leak, Property: finding.NothingForeign, Also: []finding.Property{finding.SameState, finding.SameFresh, finding.DataKept},
	Both:  "the ConfigMap that it deletes is part of the state",
	Needs: []Need{Create}, CRDs: apps, Samples: "config/samples/app-shared.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "wide-selector", &sweepingApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type sweepingApp struct{ client.Client }

func (r *sweepingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	config := hashedConfig(app)
	if err := keep(ctx, r, app, config, func() { config.Data = app.Spec.Config }); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.sweep(ctx, app, config.Name); err != nil {
		return ctrl.Result{}, err
	}
	d, err := keepDeployment(ctx, r, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	return finishApp(ctx, r, app, d)
}

// sweep removes the ConfigMaps of earlier configurations.
func (r *sweepingApp) sweep(ctx context.Context, app *api.App, current string) error {
	list := &corev1.ConfigMapList{}
	mine := client.MatchingLabels{"app.kubernetes.io/name": app.Name}
	if err := r.List(ctx, list, client.InNamespace(app.Namespace), mine); err != nil {
		return err
	}
	for _, config := range list.Items {
		if config.Name == current {
			continue
		}
		if err := r.Delete(ctx, &config); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
