package sync

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type request struct {
	types.NamespacedName
	cluster string
}

// Reconciler copies Secrets to other clusters, where no owner can be named.
type Reconciler struct {
	client.Client
	others map[string]client.Client
}

// Reconcile copies one.
func (r *Reconciler) Reconcile(ctx context.Context, req request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	if err := r.Get(ctx, req.NamespacedName, secret); err != nil {
		return ctrl.Result{}, err
	}
	twin := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name}, Data: secret.Data}
	return ctrl.Result{}, r.others[req.cluster].Create(ctx, twin)
}
