package operators

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: each reconcile writes the time into the status. That is a change, and leads to the next.
var statusClock = Operator{
	Name:  "status-clock",
	About: "writes the time of each reconcile to its status",
	Model: "hot loop caused by a status that always changes",
	Class: finding.HotLoop, Property: finding.Silent,
	Needs: []Need{Create}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "status-clock", &clockApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type clockApp struct{ client.Client }

func (r *clockApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	whole := wholeApp{r.Client}
	if result, err := whole.Reconcile(ctx, app); err != nil || going(app) {
		return result, err
	}
	app.Status.Checked = time.Now().Format(time.RFC3339Nano)
	return ctrl.Result{}, r.Status().Update(ctx, app)
}
