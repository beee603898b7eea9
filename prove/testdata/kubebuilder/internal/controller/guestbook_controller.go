// Package controller reconciles Guestbooks: a Deployment and a ConfigMap with the page's settings.
package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	webappv1 "example.com/guestbook/api/v1"
)

// GuestbookReconciler reconciles a Guestbook object.
type GuestbookReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// +kubebuilder:rbac:groups=webapp.example.com,resources=guestbooks,verbs=list;watch
// +kubebuilder:rbac:groups=webapp.example.com,resources=guestbooks/status,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch;create;update

// Reconcile moves the current state of the cluster closer to the desired state.
func (r *GuestbookReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	log := logf.FromContext(ctx)

	book := &webappv1.Guestbook{}
	if err := r.Get(ctx, req.NamespacedName, book); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !book.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: book.Namespace, Name: book.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, settings, func() error {
		settings.Data = map[string]string{"theme": book.Spec.Theme, "greeting": book.Spec.Greeting}
		return controllerutil.SetControllerReference(book, settings, r.Scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	log.V(1).Info("settings", "result", result)

	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: book.Namespace, Name: book.Name}}
	result, err = controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		fill(deployment, book)
		return controllerutil.SetControllerReference(book, deployment, r.Scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	log.V(1).Info("deployment", "result", result)
	return ctrl.Result{}, r.report(ctx, book, deployment)
}

// fill sets what the Guestbook says, and leaves what the API server defaults.
func fill(deployment *appsv1.Deployment, book *webappv1.Guestbook) {
	labels := map[string]string{"app.kubernetes.io/name": "guestbook", "app.kubernetes.io/instance": book.Name}
	deployment.Spec.Replicas = &book.Spec.Size
	if deployment.Spec.Selector == nil {
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	}
	template := &deployment.Spec.Template
	template.Labels = labels
	if len(template.Spec.Containers) != 1 {
		template.Spec.Containers = make([]corev1.Container, 1)
	}
	container := &template.Spec.Containers[0]
	container.Name, container.Image = "guestbook", "example.com/guestbook:1"
	container.Env = []corev1.EnvVar{{Name: "THEME", Value: book.Spec.Theme}, {Name: "GREETING", Value: book.Spec.Greeting}}
}

// report writes the status, where it is not that already.
func (r *GuestbookReconciler) report(ctx context.Context, book *webappv1.Guestbook, deployment *appsv1.Deployment) error {
	before := book.Status.DeepCopy()
	status := deployment.Status
	available := metav1.Condition{
		Type: "Available", Status: metav1.ConditionFalse, Reason: "Waiting", ObservedGeneration: book.Generation,
	}
	if status.ObservedGeneration >= deployment.Generation && status.Replicas == book.Spec.Size &&
		status.UpdatedReplicas == book.Spec.Size && status.AvailableReplicas == book.Spec.Size {
		available.Status, available.Reason = metav1.ConditionTrue, "AllPods"
	}
	book.Status.ObservedGeneration, book.Status.Ready = book.Generation, status.ReadyReplicas
	meta.SetStatusCondition(&book.Status.Conditions, available)
	if equality.Semantic.DeepEqual(*before, book.Status) {
		return nil
	}
	return r.Status().Update(ctx, book)
}

// SetupWithManager sets up the controller with the Manager.
func (r *GuestbookReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&webappv1.Guestbook{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.ConfigMap{}).
		Named("guestbook").
		Complete(r)
}
