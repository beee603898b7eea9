// Package controllers has a ConfigMap for each Queue.
package controllers

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	jobsv1alpha1 "example.com/web/api/v1alpha1"
)

// QueueReconciler reconciles Queues.
type QueueReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

//+kubebuilder:rbac:groups=jobs.layout.test,resources=queues,verbs=get;list;watch;create;update;patch;delete
//+kubebuilder:rbac:groups=jobs.layout.test,resources=queues/status,verbs=get;update;patch
//+kubebuilder:rbac:groups=jobs.layout.test,resources=queues/finalizers,verbs=update
//+kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;patch

// Reconcile makes the ConfigMap as the Queue wants it.
func (r *QueueReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var queue jobsv1alpha1.Queue
	if err := r.Get(ctx, request.NamespacedName, &queue); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	jobs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: queue.Namespace, Name: queue.Name + "-jobs"}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, jobs, func() error {
		jobs.Data = map[string]string{"length": strconv.Itoa(int(queue.Spec.Length))}
		return controllerutil.SetControllerReference(&queue, jobs, r.Scheme)
	})
	if err != nil || queue.Status.Open && queue.Status.ObservedGeneration == queue.Generation {
		return ctrl.Result{}, err
	}
	queue.Status = jobsv1alpha1.QueueStatus{ObservedGeneration: queue.Generation, Open: true}
	return ctrl.Result{}, r.Status().Update(ctx, &queue)
}

// SetupWithManager registers it.
func (r *QueueReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&jobsv1alpha1.Queue{}).Owns(&corev1.ConfigMap{}).Complete(r)
}
