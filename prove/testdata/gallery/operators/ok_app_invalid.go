package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: the Deployment and the Service of an App that is invalid stay as they are, and a condition says so, as long as it is invalid. Here,
// that is an App without a service, or with a memory that is not a quantity. There is no condition Ready.
var okAppInvalid = Operator{
	Name: "ok-app-invalid", Correct: true,
	About: "reports Healthy, or InvalidSpec for invalid Apps, whose Deployment and Service it leaves as they are",
	CRDs:  apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-app-invalid", &refusingApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

const (
	healthy     = "Healthy"
	invalidSpec = "InvalidSpec"
)

type refusingApp struct{ client.Client }

func (r *refusingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	if err := keepConfig(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	problem := accepted(app)
	if app.Spec.Service == nil {
		problem.Status, problem.Reason, problem.Message = metav1.ConditionFalse, "NoService", "spec.service is required"
	}
	if problem.Status != metav1.ConditionTrue {
		problem.Type, problem.Status = invalidSpec, metav1.ConditionTrue
		return ctrl.Result{}, r.report(ctx, app, func(status *api.AppStatus) { meta.SetStatusCondition(&status.Conditions, problem) })
	}
	d, err := keepDeployment(ctx, r, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := keepService(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, app, func(status *api.AppStatus) { health(app, d, status) })
}

// health describes a valid App.
func health(app *api.App, d *appsv1.Deployment, status *api.AppStatus) {
	condition := readiness(app, deployed(d), "Deployed")
	condition.Type = healthy
	meta.SetStatusCondition(&status.Conditions, condition)
	meta.RemoveStatusCondition(&status.Conditions, invalidSpec)
	status.ReadyReplicas = d.Status.ReadyReplicas
}

func (r *refusingApp) report(ctx context.Context, app *api.App, change func(*api.AppStatus)) error {
	before := app.Status.DeepCopy()
	app.Status.ObservedGeneration = app.Generation
	change(&app.Status)
	if equality.Semantic.DeepEqual(*before, app.Status) {
		return nil
	}
	return r.Status().Update(ctx, app)
}
