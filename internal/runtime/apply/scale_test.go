package apply_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// Autoscalers and `kubectl scale` write replicas through a subresource. They are named in reports, too.
func TestWhoScalesAChildIsNamed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		labels := map[string]string{"app": b.Name}
		out.Child(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/any:1"}}},
			},
		}})
		return nil
	}))
	w.IsReady(w.Box("scaled", nil))
	child := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "scaled", Namespace: w.Namespace}}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	w.Must(w.Client.SubResource("scale").Update(t.Context(), child, client.WithSubResourceBody(scale), client.FieldOwner("autoscaler")))
	w.Event("Repaired", "Deployment scaled: spec.replicas (changed by autoscaler)")
}
