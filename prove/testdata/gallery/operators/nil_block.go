package operators

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the port of the Service is read, whether there is one or not.
var nilBlock = Operator{
	Name:  "nil-block",
	About: "panics if an optional block is missing",
	Model: "Acto, a panic caused by an optional field",
	Class: finding.Crash, Property: finding.Alive, Also: []finding.Property{finding.SameFresh},
	Both:  "it does nothing for an App that makes it panic",
	Needs: []Need{Change}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "nil-block", &trustingApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type trustingApp struct{ client.Client }

func (r *trustingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	if err := keepConfig(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	d := &appsv1.Deployment{ObjectMeta: named(app, "")}
	err := keep(ctx, r, app, d, func() {
		fillDeployment(d, app, "")
		container := &d.Spec.Template.Spec.Containers[0]
		public := corev1.EnvVar{Name: "PUBLIC_PORT", Value: strconv.Itoa(int(app.Spec.Service.Port))}
		container.Env = append(container.Env, public)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	return finishApp(ctx, r, app, d)
}
