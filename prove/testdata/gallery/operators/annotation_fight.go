package operators

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: a Deployment that is complete has to have the annotations that the operator gives it, and no others. The
// Deployment's own controller puts its revision there, the operator takes it away, without end.
var annotationFight = Operator{
	Name:  "annotation-fight",
	About: "removes annotations of another controller, which adds them again",
	Model: "two controllers that fight over one object",
	Class: finding.HotLoop, Property: finding.Silent, Also: []finding.Property{finding.NothingForeign},
	Both:  "each round changes an object that another controller wrote",
	Needs: []Need{Create}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "annotation-fight", &tidyApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type tidyApp struct{ client.Client }

func (r *tidyApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
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
	if result, err := finishApp(ctx, r, app, d); err != nil || !deployed(d) {
		return result, err
	}
	d.Annotations = map[string]string{appliedSpec: hash(app.Spec)}
	return ctrl.Result{}, r.Update(ctx, d)
}
