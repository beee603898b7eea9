package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: each reconcile keeps a copy of the spec in a ConfigMap of its own, whether the spec has changed or not, and
// for ever.
var historyGrows = Operator{
	Name:  "history-grows",
	About: "keeps another copy of the spec at each reconcile",
	Model: "unbounded growth of objects",
	Class: finding.Leak, Property: finding.Bounded, Also: []finding.Property{finding.SameState, finding.SameFresh},
	Both:  "the number of copies depends on the number of reconciles",
	Needs: []Need{Create, Kill}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &chronicledApp{wholeApp{m.GetClient()}}
		return run(m, "history-grows", r, &api.App{}, &appsv1.Deployment{}, &corev1.Service{})
	},
}

type chronicledApp struct{ wholeApp }

func (r *chronicledApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if result, err := r.wholeApp.Reconcile(ctx, app); err != nil || going(app) {
		return result, err
	}
	entry := &corev1.ConfigMap{ObjectMeta: named(app, "")}
	entry.Name, entry.GenerateName = "", app.Name+"-history-"
	entry.Data = map[string]string{"image": app.Spec.Image, "spec": hash(app.Spec)}
	if err := controllerutil.SetControllerReference(app, entry, r.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Create(ctx, entry)
}
