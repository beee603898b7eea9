package operators

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: an App with a value that cannot be read has failed, and one that has failed is not looked at
// again, not even when the value is right.
var wedged = Operator{
	Name:  "wedged",
	About: "gives up an App permanently after a value that it cannot parse",
	Model: "Acto, an operation from which no later one recovers",
	Class: finding.Misoperation, Property: finding.SameFresh, Also: []finding.Property{finding.Refusing, finding.SameState, finding.Truthful},
	Both:  "an App that it gave up keeps its children and status, whatever follows",
	Needs: []Need{Change}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "wedged", &givenUpApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type givenUpApp struct{ client.Client }

func (r *givenUpApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if app.Status.Phase == failed {
		return ctrl.Result{}, nil
	}
	if _, err := resource.ParseQuantity(app.Spec.Memory); err != nil && app.Spec.Memory != "" {
		app.Status.Phase = failed
		app.Status.ObservedGeneration = app.Generation
		meta.SetStatusCondition(&app.Status.Conditions, accepted(app))
		return ctrl.Result{}, r.Status().Update(ctx, app)
	}
	whole := wholeApp{r.Client}
	return whole.Reconcile(ctx, app)
}
