package runner

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// read reads objects that are separated by lines of three dashes.
func read(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, document := range strings.Split(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		content, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if err := object.UnmarshalJSON(content); err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	return all
}

func TestAtWork(t *testing.T) {
	t.Parallel()
	const set = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: r, uid: r, generation: 1}\nspec: {replicas: 1}\n"
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, uid: d, generation: 2}\nspec: {replicas: 1}\n"
	const ofDeployment = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: r, uid: r, generation: 1, ownerReferences: [{kind: Deployment, name: d, uid: d}]}\nspec: {replicas: 1}\n" +
		"status: {observedGeneration: 1, replicas: 1, readyReplicas: 1}\n---\n"
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: p, ownerReferences: [{kind: ReplicaSet, name: r, uid: r}]}\n"
	const stateful = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: r, uid: r, generation: 1}\nspec: {replicas: 2}\n"
	const daemons = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d, uid: d, generation: 1}\n"
	const ofDaemons = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: p, ownerReferences: [{kind: DaemonSet, name: d, uid: d}]}\n"
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, uid: j}\nspec: {parallelism: 1}\n"
	const ofJob = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: p, ownerReferences: [{kind: Job, name: j, uid: j}]}\nspec: {nodeName: node}\n"
	const placed = "spec: {nodeName: node}\nstatus: {containerStatuses: [{name: c}], conditions: [{type: Ready, status: 'True'}]}\n"
	const putOff = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: p}\nspec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}\n" +
		"status: {conditions: [{type: PodScheduled, status: 'False', message: 'persistentvolumeclaim \"c\" not found'}]}\n"
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c, uid: c}\n"
	for name, test := range map[string]struct{ objects, want string }{
		"done":          {set + "status: {observedGeneration: 1, replicas: 1, readyReplicas: 1}\n---\n" + pod + placed, ""},
		"unseen":        {set + "status: {replicas: 1, readyReplicas: 1}\n---\n" + pod + placed, "was not seen"},
		"miscounted":    {set + "status: {observedGeneration: 1, replicas: 1}\n---\n" + pod + placed, "does not know its pods"},
		"short":         {set + "status: {observedGeneration: 1}\n", podless},
		"next member":   {stateful + "status: {observedGeneration: 1, replicas: 1, readyReplicas: 1}\n---\n" + pod + placed, podless},
		"member waits":  {stateful + "status: {observedGeneration: 1, replicas: 1}\n---\n" + pod + "spec: {nodeName: node}\nstatus: {containerStatuses: [{name: c}]}\n", ""},
		"over quota":    {set + "status: {observedGeneration: 1, conditions: [{type: ReplicaFailure}]}\n", ""},
		"rolled out":    {deployment + "status: {observedGeneration: 2, replicas: 1, readyReplicas: 1}\n---\n" + ofDeployment + pod + placed, ""},
		"not observed":  {deployment + "status: {observedGeneration: 1, replicas: 1, readyReplicas: 1}\n---\n" + ofDeployment + pod + placed, "was not seen"},
		"scaled down":   {deployment + "status: {observedGeneration: 2, replicas: 2, readyReplicas: 2}\n---\n" + ofDeployment + pod + placed, "does not know the state of its ReplicaSets"},
		"becomes ready": {deployment + "status: {observedGeneration: 2, replicas: 1}\n---\n" + ofDeployment + pod + placed, "does not know the state of its ReplicaSets"},
		"on each node":  {daemons + "status: {observedGeneration: 1, numberReady: 1}\n---\n" + ofDaemons + placed, ""},
		"ready late":    {daemons + "status: {observedGeneration: 1}\n---\n" + ofDaemons + placed, podless},
		"new daemons":   {daemons + "status: {numberReady: 1}\n---\n" + ofDaemons + placed, "was not seen"},
		"unscheduled":   {"apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: p}\n", "is not scheduled"},
		"no room":       {"apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: p}\nstatus: {conditions: [{type: PodScheduled, status: 'False'}]}\n", ""},
		"no volume":     {putOff + "---\n" + claim + "status: {phase: Pending}\n", podless},
		"volume came":   {putOff + "---\n" + claim + "status: {phase: Bound}\n", "is not scheduled"},
		"unstarted":     {"apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: p}\nspec: {nodeName: node}\n", "was not started"},
		"garbage":       {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, uid: c, ownerReferences: [{kind: Box, name: b, uid: b}]}\n", "is garbage"},
		"of a node":     {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, uid: c, ownerReferences: [{kind: Node, name: n, uid: n}]}\n", ""},
		"being gone":    {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, uid: c, deletionTimestamp: '2026-01-01T00:00:00Z'}\n", "is being deleted"},
		"held":          {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, uid: c, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [example.com/mine]}\n", ""},
		"job begins":    {job, "has not begun"},
		"job's pod":     {job + "status: {startTime: x}\n", podless},
		"job runs":      {job + "status: {startTime: x}\n---\n" + ofJob + "status: {phase: Running, containerStatuses: [{name: c}]}\n", ""},
		"job ends":      {job + "status: {startTime: x}\n---\n" + ofJob + "status: {phase: Succeeded, containerStatuses: [{name: c}]}\n", "does not know yet"},
		"job has done":  {job + "status: {startTime: x, conditions: [{type: Complete}]}\n---\n" + ofJob + "status: {phase: Succeeded, containerStatuses: [{name: c}]}\n", ""},
	} {
		got := atWork(read(t, test.objects), false)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if later := atWork(read(t, test.objects), true); later != got && test.want != podless || later != "" && test.want == podless {
			t.Errorf("%s: %q after a long time", name, later)
		}
	}
}

func TestReconciling(t *testing.T) {
	t.Parallel()
	const box = "apiVersion: example.com/v1\nkind: Box\nmetadata: {name: b}\nstatus: {conditions: [{type: Ready, status: 'False'}, {type: Reconciling, status: %s}]}\n"
	for status, want := range map[string]bool{"'True'": true, "'False'": false} {
		if got := reconciling(read(t, fmt.Sprintf(box, status))); got != want {
			t.Errorf("Reconciling is %s: %t", status, got)
		}
	}
}

func TestUnready(t *testing.T) {
	t.Parallel()
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
	const box = "apiVersion: example.com/v1\nkind: Box\nmetadata: {name: b}\n"
	for name, test := range map[string]struct {
		objects string
		want    bool
	}{
		"pod without a node": {pod, true},
		"pod that starts":    {pod + "spec: {nodeName: node}\nstatus: {conditions: [{type: Ready, status: 'False'}]}\n", true},
		"pod that is ready":  {pod + "spec: {nodeName: node}\nstatus: {conditions: [{type: Ready, status: 'True'}]}\n", false},
		"pod that is done":   {pod + "spec: {nodeName: node}\nstatus: {conditions: [{type: Ready, status: 'False', reason: PodCompleted}]}\n", false},
		"object not ready":   {box + "status: {conditions: [{type: Ready, status: 'False'}]}\n", true},
		"object that is":     {box + "status: {conditions: [{type: Available, status: 'True'}]}\n", false},
		"says nothing":       {box, false},
	} {
		if got := unready(read(t, test.objects)); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A world is removed from a disposable cluster if its pods take the room of others.
func TestOccupies(t *testing.T) {
	t.Parallel()
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c%s}]%s}\n"
	none := fmt.Sprintf(pod, "", "")
	for name, test := range map[string]struct {
		objects string
		want    bool
	}{
		"no pods":           {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", false},
		"no requests":       {none, false},
		"only limits":       {fmt.Sprintf(pod, ", resources: {limits: {cpu: 1}}", ""), false}, // API servers set requests
		"a request":         {none + "---\n" + fmt.Sprintf(pod, ", resources: {requests: {cpu: 1}}", ""), true},
		"an init container": {fmt.Sprintf(pod, "", ", initContainers: [{name: i, resources: {requests: {memory: 1Gi}}}]"), true},
		"the pod":           {fmt.Sprintf(pod, "", ", resources: {requests: {cpu: 1}}"), true},
		"many pods":         {strings.Repeat(none+"---\n", manyPods-1) + none, true},
	} {
		if got := occupies(read(t, test.objects)); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
