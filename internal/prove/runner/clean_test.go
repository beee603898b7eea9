package runner_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// The pods of one world do not take the room of those of the next one, although the cluster is disposable: without room, a pod is not scheduled, and
// the operator seems to be at fault. The cluster has one node with 64 CPUs.
func TestRoomForTheNextWorld(t *testing.T) {
	t.Parallel()
	env := localtest.New(t, local.Options{})
	env.InstallCRDs(t, "../../../test/testdata/boxes.yaml")
	witness, err := clusterwatch.Start(t.Context(), env.Config)
	if err != nil {
		t.Fatal(err)
	}
	stage := openStage(t, runner.Settings{Config: env.Config, Witness: witness, Operator: runner.Function(boxOperator{}.run), Disposable: true})
	large := object(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "large")
	large.Object["spec"] = map[string]any{"containers": []any{map[string]any{
		"name": "main", "image": "main", "resources": map[string]any{"requests": map[string]any{"cpu": "40"}},
	}}}
	for range 3 {
		seen := carry(t, stage, workload.Workload{Name: "large", Steps: []workload.Step{{Name: "create", Apply: []*unstructured.Unstructured{large}}}})
		pod := found(seen.Steps[0].State, "Pod")
		if pod == nil {
			t.Fatalf("there is no pod: %+v", seen.Steps[0])
		}
		if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase != "Running" {
			t.Fatalf("the pod is %s", phase)
		}
	}
}

// Runs in a namespace that is not deleted do not find the objects of the run before, nor wait for those that Kubernetes has created long ago.
func TestRunsInOneNamespace(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "../../../test/testdata/boxes.yaml")
	witness, err := clusterwatch.Start(t.Context(), env.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(witness.Close)
	stage := openStage(t, runner.Settings{Config: env.Config, Witness: witness, Operator: runner.Function(boxOperator{}.run), Namespace: env.Namespace})
	create := workload.Workload{Name: "create", Steps: life.Steps[:1]}
	for range 3 {
		seen := carry(t, stage, create)
		if seen.Namespace != env.Namespace || len(seen.Changes) == 0 || seen.Changes[0].Type != "ADDED" || found(seen.Steps[0].State, "ConfigMap") == nil {
			t.Fatalf("in namespace %s: %+v", seen.Namespace, seen)
		}
	}
}
