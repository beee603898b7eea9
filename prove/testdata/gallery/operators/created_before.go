package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: a Deployment that was created and that the cache does not show is taken for one that the cache
// does not show yet. When somebody deletes it, it is never made again.
var createdBefore = Operator{
	Name:  "created-before",
	About: "does not recreate a Deployment that it has created before",
	Model: "in-memory state in place of the actual state",
	Class: finding.Unobserved, Property: finding.Restored, Also: []finding.Property{finding.SameState},
	Both:  "a child that is deleted while it is down is not recreated either",
	Needs: []Need{Drift}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &expectingApp{wholeApp{m.GetClient()}, map[types.UID]bool{}}
		return run(m, "created-before", r, &api.App{}, appKinds()...)
	},
}

type expectingApp struct {
	wholeApp
	created map[types.UID]bool
}

func (r *expectingApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	err := r.Get(ctx, client.ObjectKeyFromObject(app), &appsv1.Deployment{})
	if apierrors.IsNotFound(err) && r.created[app.UID] {
		return ctrl.Result{}, nil // the cache is behind
	}
	result, err := r.wholeApp.Reconcile(ctx, app)
	if err == nil {
		r.created[app.UID] = true
	}
	return result, err
}
