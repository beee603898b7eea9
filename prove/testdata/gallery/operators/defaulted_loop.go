package operators

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the Deployment as it should be is compared with the one that is there, in which the API server
// has defaulted many fields. They always differ, so it is written and looked at again without end.
var defaultedLoop = Operator{
	Name:  "defaulted-loop",
	About: "compares a complete spec with the one that the API server defaulted, and keeps writing it",
	Model: "hot loop caused by defaulted fields, in many operators",
	Class: finding.HotLoop, Property: finding.Silent,
	Needs: []Need{Create}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "defaulted-loop", &comparingApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type comparingApp struct{ client.Client }

func (r *comparingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	if err := keepConfig(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	if err := keepService(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	wanted := &appsv1.Deployment{ObjectMeta: named(app, "")}
	fillDeployment(wanted, app, "")
	found := &appsv1.Deployment{}
	err := r.Get(ctx, client.ObjectKeyFromObject(app), found)
	if apierrors.IsNotFound(err) {
		if err := controllerutil.SetControllerReference(app, wanted, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.Create(ctx, wanted)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if !equality.Semantic.DeepEqual(wanted.Spec, found.Spec) {
		found.Spec = wanted.Spec
		if err := r.Update(ctx, found); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, reportApp(ctx, r, app, found)
	}
	return ctrl.Result{}, reportApp(ctx, r, app, found)
}
