package readiness

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
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

// Kinds that need only their metadata are those that kstatus always reports as ready.
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

// Workloads with large pod templates are read without them, with the same result as kstatus has for the whole object.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Name: "a", Generation: 1}
	for name, c := range map[string]struct {
		object runtime.Object
		want   Status
	}{
		"a StatefulSet that is rolled out": {&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1))}, Status: appsv1.StatefulSetStatus{
			ObservedGeneration: 1, Replicas: 1, ReadyReplicas: 1, CurrentReplicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}}, Ready},
		"a StatefulSet without pods": {&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1))}, Status: appsv1.StatefulSetStatus{ObservedGeneration: 1}}, Waiting},
		"a DaemonSet that is rolled out": {&appsv1.DaemonSet{ObjectMeta: meta, Status: appsv1.DaemonSetStatus{ObservedGeneration: 1,
			DesiredNumberScheduled: 1, CurrentNumberScheduled: 1, UpdatedNumberScheduled: 1, NumberAvailable: 1, NumberReady: 1}}, Ready},
		"a DaemonSet of an older generation": {&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 2}, Status: appsv1.DaemonSetStatus{ObservedGeneration: 1}}, Waiting},
		"a Job that failed": {&batchv1.Job{ObjectMeta: meta, Status: batchv1.JobStatus{StartTime: &metav1.Time{}, Failed: 1,
			Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"}}}}, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kinds, _, err := scheme.Scheme.ObjectKinds(c.object)
			if err != nil {
				t.Fatal(err)
			}
			if got := Of(kinds[0], c.object); got.Status != c.want {
				t.Errorf("it is %+v, want %s", got, c.want)
			}
		})
	}
}

// An object of a kind that needs only its metadata is ready until it is being deleted.
func TestMetadata(t *testing.T) {
	t.Parallel()
	secret := &metav1.PartialObjectMetadata{}
	if got := OfMetadata(secret); got.Status != Ready || !ByMetadata(schema.GroupKind{Kind: "Secret"}) || ByMetadata(schema.GroupKind{Kind: "Pod"}) {
		t.Errorf("a Secret is %+v", got)
	}
	secret.DeletionTimestamp = &metav1.Time{}
	if got := OfMetadata(secret); got.Status != Waiting || got.Message == "" {
		t.Errorf("a Secret that is being deleted is %+v", got)
	}
}
