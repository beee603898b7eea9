package operators

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the App is announced by a ConfigMap in another namespace. Nobody removes it when the App is deleted.
var namespaceLeak = Operator{
	Name:  "namespace-leak",
	About: "leaves a ConfigMap in another namespace",
	Model: "namespace leak: a child that garbage collection does not reach",
	Class: finding.Leak, Property: finding.NothingLeft,
	Needs: []Need{Delete}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &announcedApp{wholeApp{m.GetClient()}, m.GetAPIReader()}
		return run(m, "namespace-leak", r, &api.App{}, appKinds()...)
	},
}

type announcedApp struct {
	wholeApp
	live client.Reader
}

func (r *announcedApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if result, err := r.wholeApp.Reconcile(ctx, app); err != nil || going(app) {
		return result, err
	}
	return ctrl.Result{}, announce(ctx, r, r.live, app)
}
