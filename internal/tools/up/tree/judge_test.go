package tree

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	// As from the API server, whole numbers must be int64.
	content, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := object.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	return object
}

const web = "apiVersion: example.com/v1\nkind: Web\nmetadata: {name: a, generation: 2}\n"

func TestJudgeCustom(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ object, want string }{
		"nothing reported":            {web, "InProgress: the operator has not written its status yet"},
		"ready":                       {web + "status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True', message: all good}]}", "Ready: all good"},
		"not ready":                   {web + "status: {conditions: [{type: Ready, status: 'False', reason: Denied, message: no quota}]}", "InProgress: no quota"},
		"ready for an older one":      {web + "status: {observedGeneration: 1, conditions: [{type: Ready, status: 'True'}]}", "InProgress: Web generation is 2, but latest observed generation is 1"},
		"a condition of an older one": {web + "status: {conditions: [{type: Ready, status: 'True', observedGeneration: 1}]}", "InProgress: Ready is of generation 1, the object of 2"},
		"reconciling":                 {web + "status: {conditions: [{type: Ready, status: 'True'}, {type: Reconciling, status: 'True', message: 'at\n  work'}]}", "InProgress: at work"},
		"stalled":                     {web + "status: {conditions: [{type: Stalled, status: 'True', message: never}]}", "Failed: never"},
		"available, as kubebuilder":   {web + "status: {conditions: [{type: Available, status: 'True'}]}", "Ready: "},
		"not available":               {web + "status: {conditions: [{type: Available, status: 'False', reason: Reconciling, message: starting}]}", "InProgress: Available is False (Reconciling): starting"},
		"without conditions":          {web + "status: {nodes: [a]}", "Ready: "},
		"being deleted":               {strings.Replace(web, "name: a", "name: a, deletionTimestamp: '2026-01-01T00:00:00Z'", 1), "Terminating: Resource scheduled for deletion"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state, message := JudgeCustom(parse(t, test.object), true)
			if got := string(state) + ": " + message; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if state, _ := JudgeCustom(parse(t, web), false); state != Ready {
		t.Errorf("a kind without a status is %s", state)
	}
}

const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"

func TestJudgeTellsWhatAPodWaitsFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ object, want string }{
		"an image":      {pod + "status: {phase: Pending, containerStatuses: [{name: web, state: {waiting: {reason: ImagePullBackOff, message: no such image}}}]}", "InProgress: container web waits: ImagePullBackOff: no such image"},
		"without words": {pod + "status: {phase: Pending, initContainerStatuses: [{name: setup, state: {waiting: {reason: CrashLoopBackOff}}}]}", "container setup waits: CrashLoopBackOff"},
		"a node":        {pod + "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/1 nodes are available}]}", "not scheduled: 0/1 nodes are available"},
		"nothing":       {pod + "status: {phase: Running, conditions: [{type: Ready, status: 'True'}], containerStatuses: [{name: web, state: {running: {}}}]}", "Ready: Running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state, message := Judge(parse(t, test.object))
			if got := string(state) + ": " + message; !strings.HasSuffix(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestJudgeSumsUpWhatIsReady(t *testing.T) {
	t.Parallel()
	for want, object := range map[string]string{
		"2/2 ready": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 2}\nstatus: {replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2, conditions: [{type: Available, status: 'True'}]}",
		"Bound":     "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nstatus: {phase: Bound}",
		"":          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}",
	} {
		if state, message := Judge(parse(t, object)); state != Ready || message != want {
			t.Errorf("%s: %q, want %q", state, message, want)
		}
	}
}

func TestWhyGoesDownToThePods(t *testing.T) {
	t.Parallel()
	root := parse(t, web+"status: {conditions: [{type: Ready, status: 'False', reason: Waiting, message: for the Deployment}, {type: Backup, status: 'Unknown', message: never made}]}")
	waiting := parse(t, pod+"status: {phase: Pending, containerStatuses: [{name: web, state: {waiting: {reason: ImagePullBackOff}}}]}")
	fine := parse(t, strings.Replace(pod, "name: a", "name: fine", 1)+"status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}")
	service := parse(t, "apiVersion: v1\nkind: Service\nmetadata: {name: s}")
	node := &Node{Object: root, State: InProgress, Message: "for the Deployment", Children: []*Node{
		{Object: service, State: Ready, Children: []*Node{
			{Object: waiting, State: InProgress, Message: "container web waits: ImagePullBackOff"},
			{Object: fine, State: Ready},
		}},
	}}
	want := `Web a: InProgress: for the Deployment
  Backup is Unknown: never made
    Pod a: InProgress: container web waits: ImagePullBackOff`
	if got := strings.Join(Why(node), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Why(&Node{Object: root, State: Ready}); got != nil {
		t.Errorf("ready: %q", got)
	}
}

// What is stored of a Secret or a ConfigMap contains no value, also not as the configuration that kubectl applied last.
func TestContentsAreNotStored(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Secret", "ConfigMap"} {
		object := parse(t, `
apiVersion: v1
kind: `+kind+`
metadata:
  name: a
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"password":"c2VjcmV0"}}', note: kept}
  managedFields: [{manager: kubectl, operation: Update, fieldsType: FieldsV1, fieldsV1: {'f:data': {'f:c2VjcmV0': {}}}}]
data: {password: c2VjcmV0}
stringData: {password: c2VjcmV0}
binaryData: {password: c2VjcmV0}
`)
		stored, err := strip(object)
		if err != nil {
			t.Fatal(err)
		}
		content, err := stored.(*unstructured.Unstructured).MarshalJSON()
		if err != nil || strings.Contains(string(content), "c2VjcmV0") || !strings.Contains(string(content), "kept") {
			t.Errorf("stored of a %s: %s, error %v", kind, content, err)
		}
	}
}
