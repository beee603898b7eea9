package runner_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// running contains objects with pods, and one of them with a claim.
var running = []string{
	`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, ` + template("web") + `}}`,
	`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {` + template("agent") + `}}`,
	`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: store}, spec: {replicas: 1, serviceName: store, ` + template("store") + `, volumeClaimTemplates: [
		{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`,
}

func template(name string) string {
	return `selector: {matchLabels: {app: ` + name + `}}, template: {metadata: {labels: {app: ` + name + `}}, spec: {containers: [{name: c, image: "example.com/c:1"}]}}`
}

func manifest(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	made := &unstructured.Unstructured{}
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := made.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	return made
}

// whole returns a step that applies all objects of running.
func whole(t *testing.T) workload.Step {
	t.Helper()
	step := workload.Step{Name: "create"}
	for _, text := range running {
		step.Apply = append(step.Apply, manifest(t, text))
	}
	return step
}

// podCount contains the numbers of pods of an app in a state.
type podCount struct{ ready, unready, leaving int }

func count(step runlog.Step, app string) (found podCount) {
	for _, object := range step.State {
		if object.GetKind() != "Pod" || object.GetLabels()["app"] != app {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		ready := false
		for _, one := range conditions {
			condition := one.(map[string]any)
			ready = ready || condition["type"] == "Ready" && condition["status"] == "True"
		}
		switch {
		case object.GetDeletionTimestamp() != nil:
			found.leaving++
		case ready:
			found.ready++
		default:
			found.unready++
		}
	}
	return found
}

func expect(t *testing.T, seen *runlog.Trace, i int, want map[string]podCount) {
	t.Helper()
	if i >= len(seen.Steps) {
		t.Fatalf("the run ended before step %d", i)
	}
	step := seen.Steps[i]
	if !step.Silent {
		t.Errorf("step %s: %s", step.Name, step.Why)
	}
	for app, wanted := range want {
		if got := count(step, app); got != wanted {
			t.Errorf("step %s: %s has %+v, want %+v", step.Name, app, got, wanted)
		}
	}
}

var allWell = map[string]podCount{"web": {ready: 1}, "agent": {ready: 1}, "store": {ready: 1}}

// A lost node affects the pods of its world that do not tolerate it, and nothing in
// another world.
func TestLostNode(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(boxOperator{}.run))
	t.Run("beside", func(t *testing.T) {
		t.Parallel()
		seen := carry(t, stage, workload.Workload{Steps: []workload.Step{whole(t), {Name: "again", Apply: whole(t).Apply}}})
		expect(t, seen, 0, allWell)
		expect(t, seen, 1, allWell)
	})
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		seen := carry(t, stage, workload.Workload{Steps: []workload.Step{
			whole(t),
			{Name: "fail", Fail: &workload.Failure{How: workload.LostNode}},
			{Name: "heal", Heal: true},
		}})
		expect(t, seen, 0, allWell)
		expect(t, seen, 1, map[string]podCount{"web": {ready: 1, leaving: 1}, "agent": {unready: 1}, "store": {leaving: 1}})
		expect(t, seen, 2, allWell)
	})
}

// Pods wait for claims that get no volume. The claims are bound when the failure ends.
func TestUnboundVolume(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(boxOperator{}.run))
	seen := carry(t, stage, workload.Workload{Steps: []workload.Step{
		{Name: "fail", Fail: &workload.Failure{How: workload.UnboundVolume}},
		whole(t),
		{Name: "heal", Heal: true},
	}})
	expect(t, seen, 1, map[string]podCount{"web": {ready: 1}, "agent": {ready: 1}, "store": {unready: 1}})
	expect(t, seen, 2, allWell)
	for i, want := range map[int]string{1: "Pending", 2: "Bound"} {
		claim := found(seen.Steps[i].State, "PersistentVolumeClaim")
		if claim == nil {
			t.Fatalf("step %s: there is no claim", seen.Steps[i].Name)
		}
		if got, _, _ := unstructured.NestedString(claim.Object, "status", "phase"); got != want {
			t.Errorf("step %s: the claim is %s", seen.Steps[i].Name, got)
		}
	}
}

// Pods fail even if they are created after the step began: controllers may be slow on a slow cluster.
func TestPodsToComeFail(t *testing.T) {
	t.Parallel()
	late := runner.Function(func(ctx context.Context, access runner.Access) error {
		pods := kubernetes.NewForConfigOrDie(access.Config).CoreV1().Pods(access.Namespace)
		if _, err := pods.List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(2 * time.Second): // the step has begun, because the operator is silent
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "late", Labels: map[string]string{"app": "late"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/c:1"}}},
		}
		if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
	seen := carry(t, newStage(t, late), workload.Workload{Steps: []workload.Step{
		{Name: "fail", Fail: &workload.Failure{How: "crash-loop"}},
	}})
	expect(t, seen, 0, map[string]podCount{"late": {unready: 1}})
}
