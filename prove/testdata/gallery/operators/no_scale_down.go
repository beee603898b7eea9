package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: a Deployment that has more replicas than the App asks for is left as it is.
var noScaleDown = Operator{
	Name:  "no-scale-down",
	About: "scales up but never down",
	Model: "Acto, a spec change without effect (scaling down is rejected or forgotten)",
	Class: finding.Misoperation, Property: finding.SameFresh,
	Needs: []Need{Change}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "no-scale-down", &growingApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type growingApp struct{ client.Client }

func (r *growingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	if err := keepConfig(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	d := &appsv1.Deployment{ObjectMeta: named(app, "")}
	err := keep(ctx, r, app, d, func() {
		had := ptr.Deref(d.Spec.Replicas, 0)
		fillDeployment(d, app, "")
		d.Spec.Replicas = ptr.To(max(had, app.Spec.Replicas))
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	return finishApp(ctx, r, app, d)
}
