package operators

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: a conflict of the status is taken for somebody else's newer one, whose event will come. When
// none comes, the status stays what it was.
var statusConflict = Operator{
	Name:  "status-conflict",
	About: "drops its status update on a conflict",
	Model: "lost status update: an ignored conflict, in many operators",
	Class: finding.LostUpdate, Property: finding.SameState, Also: []finding.Property{finding.Truthful},
	Both:  "the status that it did not write describes an earlier spec",
	Needs: []Need{Answer}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "status-conflict", &shyApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type shyApp struct{ client.Client }

func (r *shyApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	whole := wholeApp{r.Client}
	result, err := whole.Reconcile(ctx, app)
	if apierrors.IsConflict(err) {
		log.FromContext(ctx).Info("somebody was faster, the next event will do")
		return ctrl.Result{}, nil
	}
	return result, err
}
