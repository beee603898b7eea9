// Package controller has a ConfigMap for each Site.
package controller

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	webv1 "example.com/web/api/v1"
)

// SiteReconciler reconciles Sites.
type SiteReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// +kubebuilder:rbac:groups=web.layout.test,resources=sites,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=web.layout.test,resources=sites/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=web.layout.test,resources=sites/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;patch

// Reconcile makes the ConfigMap as the Site wants it.
func (r *SiteReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var site webv1.Site
	if err := r.Get(ctx, request.NamespacedName, &site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	pages := int32(1)
	if site.Spec.Pages != nil {
		pages = *site.Spec.Pages
	}
	content := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name + "-pages"}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, content, func() error {
		content.Data = map[string]string{"title": site.Spec.Title, "pages": strconv.Itoa(int(pages))}
		return controllerutil.SetControllerReference(&site, content, r.Scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	changed := meta.SetStatusCondition(&site.Status.Conditions, metav1.Condition{
		Type: "Available", Status: metav1.ConditionTrue, Reason: "Written", Message: "all pages are there", ObservedGeneration: site.Generation,
	})
	if !changed {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Status().Update(ctx, &site)
}

// SetupWithManager registers it.
func (r *SiteReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&webv1.Site{}).Owns(&corev1.ConfigMap{}).Named("site").Complete(r)
}
