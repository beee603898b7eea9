package main

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// plainAvailable is the condition of the operator in the tutorial.
const plainAvailable = "Available"

// plain is the operator in the style of kubebuilder's tutorial: it first sets the condition to Unknown, reads each child object
// and creates missing ones, compares and updates the relevant fields, and writes the status with Update. The tutorial sets
// Available as soon as the Deployment was created. This operator checks the status of the Deployment, like Operon, so both are
// ready for the same reason. It records two events, as Operon does: one when the first child is created, and one when the object is ready.
type plain struct {
	client.Client
	scheme *runtime.Scheme
	events events.EventRecorder
}

func runPlain(ctx context.Context, config *rest.Config, s settings) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, addToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	rest.AddUserAgent(config, operatorAgent)
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&Site{}).Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: s.workers}).
		Complete(&plain{Client: manager.GetClient(), scheme: scheme, events: manager.GetEventRecorder(operatorAgent)})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// Reconcile implements reconcile.Reconciler.
func (r *plain) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := &Site{}
	if err := r.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if len(site.Status.Conditions) == 0 {
		if err := r.report(ctx, site, metav1.ConditionUnknown, "Reconciling", "Starting reconciliation"); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Get(ctx, request.NamespacedName, site); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if err := r.configMap(ctx, site); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.service(ctx, site); err != nil {
		return ctrl.Result{}, err
	}
	deployment, err := r.deployment(ctx, site)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !rolledOut(deployment) {
		return ctrl.Result{}, nil
	}
	if !meta.IsStatusConditionTrue(site.Status.Conditions, plainAvailable) {
		r.events.Eventf(site, nil, corev1.EventTypeNormal, "Ready", "Report", "%s is ready", site.Name)
	}
	return ctrl.Result{}, r.report(ctx, site, metav1.ConditionTrue, "Reconciled", "Deployment is rolled out")
}

// report writes the condition, unless the status already contains it.
func (r *plain) report(ctx context.Context, site *Site, status metav1.ConditionStatus, reason, message string) error {
	condition := metav1.Condition{Type: plainAvailable, Status: status, Reason: reason, Message: message, ObservedGeneration: site.Generation}
	if !meta.SetStatusCondition(&site.Status.Conditions, condition) && site.Status.ObservedGeneration == site.Generation {
		return nil
	}
	site.Status.ObservedGeneration = site.Generation
	return r.Status().Update(ctx, site)
}

func (r *plain) configMap(ctx context.Context, site *Site) error {
	want, live := configMapOf(site), &corev1.ConfigMap{}
	created, err := r.createMissing(ctx, site, want, live)
	if created {
		r.events.Eventf(site, want, corev1.EventTypeNormal, "Created", "Create", "Creating the children of %s", site.Name)
	}
	if created || err != nil || maps.Equal(want.Data, live.Data) {
		return err
	}
	live.Data = want.Data
	return r.Update(ctx, live)
}

func (r *plain) service(ctx context.Context, site *Site) error {
	want, live := serviceOf(site), &corev1.Service{}
	created, err := r.createMissing(ctx, site, want, live)
	if created || err != nil || maps.Equal(want.Spec.Selector, live.Spec.Selector) {
		return err
	}
	live.Spec.Selector = want.Spec.Selector
	return r.Update(ctx, live)
}

func (r *plain) deployment(ctx context.Context, site *Site) (*appsv1.Deployment, error) {
	want, live := deploymentOf(site), &appsv1.Deployment{}
	created, err := r.createMissing(ctx, site, want, live)
	if created || err != nil || *live.Spec.Replicas == *want.Spec.Replicas {
		return live, err
	}
	live.Spec.Replicas = want.Spec.Replicas
	return live, r.Update(ctx, live)
}

// createMissing reads a child into live, or creates it.
func (r *plain) createMissing(ctx context.Context, site *Site, want, live client.Object) (created bool, err error) {
	err = r.Get(ctx, client.ObjectKeyFromObject(want), live)
	if !apierrors.IsNotFound(err) {
		return false, err
	}
	if err := ctrl.SetControllerReference(site, want, r.scheme); err != nil {
		return false, err
	}
	return true, r.Create(ctx, want)
}

func rolledOut(d *appsv1.Deployment) bool {
	return d.Generation > 0 && d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.AvailableReplicas == *d.Spec.Replicas
}
