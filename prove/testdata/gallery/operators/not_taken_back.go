package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the tier that is the default asks for nothing, and so nothing is set for it. What another tier
// had set before stays.
var notTakenBack = Operator{
	Name:  "not-taken-back",
	About: "sets nothing for a default value, so it does not revert what was set before",
	Model: "Acto, reverting a value does not restore the state",
	Class: finding.Misoperation, Property: finding.SameFresh,
	Needs: []Need{Change}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "not-taken-back", &tieredApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type tieredApp struct{ client.Client }

func (r *tieredApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	if err := keepConfig(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	d := &appsv1.Deployment{ObjectMeta: named(app, "")}
	err := keep(ctx, r, app, d, func() {
		had := corev1.ResourceList(nil)
		if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
			had = containers[0].Resources.Requests
		}
		fillDeployment(d, app, "")
		if app.Spec.Tier == "small" {
			d.Spec.Template.Spec.Containers[0].Resources.Requests = had
		}
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	return finishApp(ctx, r, app, d)
}
