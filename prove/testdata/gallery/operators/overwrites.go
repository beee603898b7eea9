package operators

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: when the App was changed by somebody else meanwhile, its newest version is read, and overwritten
// with what was read before. The change of the user's is gone.
var overwrites = Operator{
	Name:  "overwrites",
	About: "resolves a conflict by overwriting the user's change with its old copy",
	Model: "an overwritten conflict, in many operators",
	Class: finding.LostUpdate, Property: finding.SameState, Also: []finding.Property{finding.NothingForeign, finding.SameFresh},
	Both:  "the change of the user that it overwrites has no effect",
	Needs: []Need{Change, Freeze}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &stubbornApp{wholeApp{m.GetClient()}, m.GetAPIReader()}
		return run(m, "overwrites", r, &api.App{}, appKinds()...)
	},
}

type stubbornApp struct {
	wholeApp
	live client.Reader
}

func (r *stubbornApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if result, err := r.wholeApp.Reconcile(ctx, app); err != nil || going(app) {
		return result, err
	}
	if applied := hash(app.Spec); app.Annotations[appliedSpec] != applied {
		app.Annotations = with(app.Annotations, map[string]string{appliedSpec: applied})
		if err := r.write(ctx, app); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: time.Second}, nil
}

// write writes the App, whatever anybody else does.
func (r *stubbornApp) write(ctx context.Context, app *api.App) error {
	wanted := app.DeepCopy()
	err := r.Update(ctx, app)
	if !apierrors.IsConflict(err) {
		return err
	}
	newest := &api.App{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(app), newest); err != nil {
		return client.IgnoreNotFound(err)
	}
	wanted.ResourceVersion = newest.ResourceVersion
	return r.Update(ctx, wanted)
}
