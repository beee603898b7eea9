package operators

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the ConfigMap without an owner is removed when the event of the App's deletion comes, and not by a finalizer.
// An operator that ends before that, or whose removal fails, never removes it.
var deleteEvent = Operator{
	Name:  "delete-event",
	About: "cleans up on the deletion event, without a finalizer",
	Model: "Sieve, unobserved state: a missing finalizer",
	Class: finding.Unobserved, Property: finding.NothingLeft,
	Needs: []Need{Delete, Kill}, CRDs: apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &auditedApp{wholeApp{m.GetClient()}}
		return build(m, "delete-event", &api.App{}, appKinds()...).
			Watches(&api.App{}, handler.Funcs{DeleteFunc: r.deleted}).
			Complete(reconcile.AsReconciler(m.GetClient(), r))
	},
}

type auditedApp struct{ wholeApp }

func (r *auditedApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if result, err := r.wholeApp.Reconcile(ctx, app); err != nil || going(app) {
		return result, err
	}
	audit := &corev1.ConfigMap{ObjectMeta: named(app, "-audit")}
	_, err := controllerutil.CreateOrUpdate(ctx, r, audit, func() error {
		audit.Data = map[string]string{"image": app.Spec.Image}
		return nil
	})
	return ctrl.Result{}, err
}

// deleted removes what the audit kept.
func (r *auditedApp) deleted(ctx context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	audit := &corev1.ConfigMap{ObjectMeta: named(e.Object, "-audit")}
	if err := r.Delete(ctx, audit); err != nil {
		log.FromContext(ctx).Error(err, "the audit stays")
	}
}
