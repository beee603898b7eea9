package operators

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: that there is a Service to be removed is known from having made it. An operator that was started again
// since does not know, and leaves it.
var memoryLost = Operator{
	Name:  "memory-lost",
	About: "keeps in memory what it has created and may have to delete",
	Model: "in-memory state lost at a restart",
	Class: finding.Intermediate, Property: finding.SameState, Also: []finding.Property{finding.SameFresh},
	Both:  "what it forgot to delete is also left after a change",
	Needs: []Need{Change, Kill}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &rememberingApp{m.GetClient(), map[types.UID]bool{}}
		return run(m, "memory-lost", r, &api.App{}, appKinds()...)
	},
}

type rememberingApp struct {
	client.Client
	served map[types.UID]bool
}

func (r *rememberingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
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
	if app.Spec.Service != nil || r.served[app.UID] {
		if err := keepService(ctx, r, app); err != nil {
			return ctrl.Result{}, err
		}
	}
	r.served[app.UID] = app.Spec.Service != nil
	return ctrl.Result{}, reportApp(ctx, r, app, d)
}
