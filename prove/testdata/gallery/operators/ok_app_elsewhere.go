package operators

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: the ConfigMap in another namespace goes with a finalizer, which is there before it.
var okAppElsewhere = Operator{
	Name: "ok-app-elsewhere", Correct: true,
	About: "deletes its ConfigMap in another namespace with a finalizer",
	CRDs:  apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &withdrawnApp{wholeApp{m.GetClient()}, m.GetAPIReader()}
		return run(m, "ok-app-elsewhere", r, &api.App{}, appKinds()...)
	},
}

type withdrawnApp struct {
	wholeApp
	live client.Reader
}

const appFinalizer = "gallery.operon.dev/announcement"

func (r *withdrawnApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, r.withdraw(ctx, app)
	}
	if controllerutil.AddFinalizer(app, appFinalizer) {
		if err := r.Update(ctx, app); err != nil {
			return ctrl.Result{}, err
		}
	}
	if result, err := r.wholeApp.Reconcile(ctx, app); err != nil {
		return result, err
	}
	// Nobody would remove what is announced for an App of the past, which a cache may show.
	now := &api.App{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(app), now); err != nil || now.UID != app.UID || going(now) {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{}, announce(ctx, r, r.live, app)
}

func (r *withdrawnApp) withdraw(ctx context.Context, app *api.App) error {
	if !controllerutil.ContainsFinalizer(app, appFinalizer) {
		return nil
	}
	announcement := &corev1.ConfigMap{ObjectMeta: announcementOf(app)}
	if err := r.Delete(ctx, announcement); client.IgnoreNotFound(err) != nil {
		return err
	}
	controllerutil.RemoveFinalizer(app, appFinalizer)
	return client.IgnoreNotFound(r.Update(ctx, app))
}
