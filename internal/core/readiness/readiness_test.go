package readiness

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

func deployment(ready int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 2},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(3)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeName: "kept"}}},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: ready, AvailableReplicas: ready,
			Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			},
		},
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	apps := appsv1.SchemeGroupVersion.WithKind("Deployment")
	custom := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Site"}
	failed := deployment(3)
	failed.Status.Conditions[1] = appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}
	site := func(conditions any) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Site", "metadata": map[string]any{"name": "a"}, "status": map[string]any{"conditions": conditions},
		}}
	}
	tests := []struct {
		name   string
		kind   schema.GroupVersionKind
		object runtime.Object
		want   Status
	}{
		{"rolled out", apps, deployment(3), Ready},
		{"rolling out", apps, deployment(1), Waiting},
		{"given up", apps, failed, Failed},
		{"a condition Ready", custom, site([]any{map[string]any{"type": "Ready", "status": "False", "reason": "Cold"}}), Waiting},
		{"conditions of another shape", custom, site("none"), Waiting},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := test.object.DeepCopyObject()
			got := Of(test.kind, test.object)
			if got.Status != test.want || (got.Message == "") != (test.want == Ready) {
				t.Errorf("it is %+v, want %s", got, test.want)
			}
			if d, ok := test.object.(*appsv1.Deployment); ok && d.Spec.Template.Spec.NodeName != before.(*appsv1.Deployment).Spec.Template.Spec.NodeName {
				t.Error("the object was changed")
			}
		})
	}
}

// Kinds whose metadata is enough are those that kstatus takes for ready as they are.
func TestKindsWithoutAState(t *testing.T) {
	t.Parallel()
	for kind := range still {
		found := false
		for served := range scheme.Scheme.AllKnownTypes() {
			if served.GroupKind() != kind {
				continue
			}
			found = true
			object, err := scheme.Scheme.New(served)
			if err != nil {
				t.Fatal(err)
			}
			if got := Of(served, object); got.Status != Ready {
				t.Errorf("%s is %+v as it is created", served, got)
			}
		}
		if !found {
			t.Errorf("%s is no kind of Kubernetes", kind)
		}
	}
}
