// Package unique has a reconciler that writes what nobody has seen before.
package unique

import (
	"context"
	"crypto/rand"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reconciler keeps Pods.
type Reconciler struct{ client.Client }

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pod := &corev1.Pod{}
	if err := r.Get(ctx, req.NamespacedName, pod); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	pod.Status.Message = rand.Text()
	pod.Status.Reason = utilrand.String(5)
	pod.Status.HostIP = string(uuid.NewUUID())
	pod.Status.PodIP = time.Now().String()
	pod.Status.NominatedNodeName = metav1.NowMicro().String()
	return ctrl.Result{}, r.Status().Update(ctx, pod)
}
