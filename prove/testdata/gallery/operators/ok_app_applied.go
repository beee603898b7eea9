package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: each pass applies all children, whether or not anything changed. The API server changes nothing then.
var okAppApplied = Operator{
	Name: "ok-app-applied", Correct: true,
	About: "applies all children on the server side in each pass, also if nothing changed",
	CRDs:  apps, Samples: "config/samples/app-plain.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-app-applied", &appliedApp{m.GetClient()}, &api.App{}, appKinds()...)
	},
}

type appliedApp struct{ client.Client }

func (r *appliedApp) Reconcile(ctx context.Context, app *api.App) (ctrl.Result, error) {
	if going(app) {
		return ctrl.Result{}, nil
	}
	config := &corev1.ConfigMap{ObjectMeta: named(app, ""), Data: app.Spec.Config}
	if err := r.apply(ctx, app, config); err != nil {
		return ctrl.Result{}, err
	}
	d := &appsv1.Deployment{ObjectMeta: named(app, "")}
	fillDeployment(d, app, "")
	if err := r.apply(ctx, app, d); err != nil {
		return ctrl.Result{}, err
	}
	service := &corev1.Service{ObjectMeta: named(app, "")}
	if app.Spec.Service == nil {
		if err := drop(ctx, r, app, service); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, reportApp(ctx, r, app, d)
	}
	fillService(service, app)
	if err := r.apply(ctx, app, service); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportApp(ctx, r, app, d)
}

// apply applies a child and makes it what the API server answers.
func (r *appliedApp) apply(ctx context.Context, app *api.App, child client.Object) error {
	if err := controllerutil.SetControllerReference(app, child, r.Scheme()); err != nil {
		return err
	}
	kind, err := r.GroupVersionKindFor(child)
	if err != nil {
		return err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
	if err != nil {
		return err
	}
	applied := &unstructured.Unstructured{Object: content}
	applied.SetGroupVersionKind(kind)
	unstructured.RemoveNestedField(applied.Object, "status")
	err = r.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("ok-app-applied"), client.ForceOwnership)
	if err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(applied.Object, child)
}
