package runner_test

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/internal/prove/runner"
)

var (
	boxKind       = schema.GroupVersionKind{Group: "test.operon.dev", Version: "v1", Kind: "Box"}
	configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// object returns an object of a kind.
func object(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	made.SetGroupVersionKind(kind)
	made.SetName(name)
	return made
}

// boxOperator is a plain controller-runtime operator: it copies a Box's data into a ConfigMap, and sets the
// observed generation in the status.
type boxOperator struct {
	client client.Client
	// before is called in each reconcile, for operators that misbehave.
	before func() error
	// again is the delay after which the Box is written again. 0 means never.
	again time.Duration
}

// run runs the operator until ctx ends.
func (o boxOperator) run(ctx context.Context, access runner.Access) error {
	skip := true
	manager, err := ctrl.NewManager(access.Config, ctrl.Options{
		Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &skip},
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return err
	}
	o.client = manager.GetClient()
	err = builder.ControllerManagedBy(manager).Named("box").For(object(boxKind, "")).Owns(object(configMapKind, "")).Complete(o)
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// Reconcile implements reconcile.Reconciler.
func (o boxOperator) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	box := object(boxKind, "")
	if err := o.client.Get(ctx, request.NamespacedName, box); err != nil || box.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if o.before != nil {
		if err := o.before(); err != nil {
			return reconcile.Result{}, err
		}
	}
	child := object(configMapKind, box.GetName())
	child.SetNamespace(box.GetNamespace())
	_, err := controllerutil.CreateOrUpdate(ctx, o.client, child, func() error {
		data, _, err := unstructured.NestedMap(box.Object, "spec", "data")
		child.Object["data"] = data
		return errors.Join(err, controllerutil.SetControllerReference(box, child, o.client.Scheme()))
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	if o.again > 0 {
		box.SetAnnotations(map[string]string{"looked": time.Now().String()})
		return reconcile.Result{RequeueAfter: o.again}, o.client.Update(ctx, box)
	}
	if seen, _, _ := unstructured.NestedInt64(box.Object, "status", "observedGeneration"); seen == box.GetGeneration() {
		return reconcile.Result{}, nil
	}
	if err := unstructured.SetNestedField(box.Object, box.GetGeneration(), "status", "observedGeneration"); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, o.client.Status().Update(ctx, box)
}
