package good

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Start starts the operator, which wants to hear of ConfigMaps.
func Start(ctx context.Context, r reconcile.Reconciler) error {
	m, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(m).For(&corev1.Namespace{}).Owns(&corev1.ConfigMap{}).Complete(r); err != nil {
		return err
	}
	return m.GetClient().Get(ctx, client.ObjectKey{Namespace: "default", Name: "settings"}, &corev1.ConfigMap{})
}
