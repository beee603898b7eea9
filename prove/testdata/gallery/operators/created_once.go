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

// Wrong: of a Deployment that is there already, only the number of replicas and the image are
// brought up to date. Environment, tier and memory are read when it is created, and never again.
var createdOnce = Operator{
	Name:  "created-once",
	About: "reads environment, tier and memory only when it creates the Deployment",
	Model: "Acto, a spec change without effect",
	Class: finding.Misoperation, Property: finding.SameFresh,
	Needs: []Need{Change}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "created-once", &createdOnceApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type createdOnceApp struct{ client.Client }

func (r *createdOnceApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	if err := keepConfig(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	d := &appsv1.Deployment{ObjectMeta: named(app, "")}
	err := keep(ctx, r, app, d, func() {
		if d.CreationTimestamp.IsZero() {
			fillDeployment(d, app, "")
		}
		d.Spec.Replicas = ptr.To(app.Spec.Replicas)
		d.Spec.Template.Spec.Containers[0].Image = app.Spec.Image
		d.Spec.Template.Annotations = with(d.Spec.Template.Annotations, map[string]string{configHash: hash(app.Spec.Config)})
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	return finishApp(ctx, r, app, d)
}
