package operators

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: creates what its cache does not have. That a child is there already is no error, and no
// end: it is read from the API server, made what it should be by a patch that insists on the
// version read, and the next child is next.
var okAppPatch = Operator{
	Name: "ok-app-patch", Correct: true,
	About: "creates what its cache does not have, and patches what exists",
	CRDs:  apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &patchedApp{m.GetClient(), m.GetAPIReader()}
		return run(m, "ok-app-patch", r, &api.App{}, appKinds()...)
	},
}

type patchedApp struct {
	client.Client
	live client.Reader
}

func (r *patchedApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	config := &corev1.ConfigMap{ObjectMeta: named(app, "")}
	if err := r.keep(ctx, app, config, func() { config.Data = app.Spec.Config }); err != nil {
		return ctrl.Result{}, err
	}
	d := &appsv1.Deployment{ObjectMeta: named(app, "")}
	if err := r.keep(ctx, app, d, func() { fillDeployment(d, app, "") }); err != nil {
		return ctrl.Result{}, err
	}
	return finishApp(ctx, r, app, d)
}

func (r *patchedApp) keep(ctx context.Context, app *api.App, child client.Object, fill func()) error {
	err := r.Get(ctx, client.ObjectKeyFromObject(child), child)
	if apierrors.IsNotFound(err) {
		fill()
		if err := controllerutil.SetControllerReference(app, child, r.Scheme()); err != nil {
			return err
		}
		if err := r.Create(ctx, child); !apierrors.IsAlreadyExists(err) {
			return err
		}
		err = r.live.Get(ctx, client.ObjectKeyFromObject(child), child)
	}
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(child, app) {
		return fmt.Errorf("%s is there, and not %s's", child.GetName(), app.Name)
	}
	before := child.DeepCopyObject().(client.Object)
	fill()
	if equality.Semantic.DeepEqual(before, child) {
		return nil
	}
	return r.Patch(ctx, child, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
