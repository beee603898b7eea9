package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the Service is made only in the reconcile that has just made the Deployment. An operator
// that ends between the two finds a Deployment afterwards, and never makes the Service.
var halfMade = Operator{
	Name:  "half-made",
	About: "creates the Service only right after it has created the Deployment",
	Model: "Sieve, intermediate state",
	Class: finding.Intermediate, Property: finding.SameState,
	Needs: []Need{Kill}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "half-made", &halfMadeApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type halfMadeApp struct{ client.Client }

func (r *halfMadeApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	if err := keepConfig(ctx, r, app); err != nil {
		return ctrl.Result{}, err
	}
	err := r.Get(ctx, client.ObjectKeyFromObject(app), &appsv1.Deployment{})
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	isNew := apierrors.IsNotFound(err)
	d, err := keepDeployment(ctx, r, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	if isNew || r.served(ctx, app) {
		if err := keepService(ctx, r, app); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, reportApp(ctx, r, app, d)
}

// served tells whether there is a Service to be kept up to date.
func (r *halfMadeApp) served(ctx context.Context, app *api.App) bool {
	return r.Get(ctx, client.ObjectKeyFromObject(app), &corev1.Service{}) == nil
}
