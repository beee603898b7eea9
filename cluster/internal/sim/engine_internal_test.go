package sim

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
	"sigs.k8s.io/yaml"
)

var rewrite = flag.Bool("rewrite", false, "write what is into the files of testdata that say what should be")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not as it was; see what changed with: go test ./sim -rewrite && git diff\ngot:\n%s", path, got)
	}
}

// The golden file lists everything that happens to pods: for each desired state, the stages, and for each stage the states of a
// pod in which it is executed.
func TestPodStages(t *testing.T) {
	t.Parallel()
	wants := []podState{
		podCreating, podReady, podUnready, podGated, podPullFailed, podCrashed, podRefused,
		podSucceeded, podFailed, podCutOff, podStopped, podDeleted,
	}
	is := []podState{
		podNew, podCreating, podReady, podOutdated, podUnready, podGated,
		podPullFailed, podPullBackOff, podCrashed, podRefused, podCutOff,
	}
	golden(t, "pod-stages.txt", stageTable(t, testEngine(t, "pod", nil), wants, is))
}

func TestNodeStages(t *testing.T) {
	t.Parallel()
	wants := []nodeState{nodeReady, nodeLost}
	is := []nodeState{nodeReady, nodeLost, nodeOutdated}
	golden(t, "node-stages.txt", stageTable(t, testEngine(t, "node", nil), wants, is))
}

func stageTable[S ~string](t *testing.T, e *engine, allWants, allIs []S) string {
	t.Helper()
	var table strings.Builder
	for _, wants := range allWants {
		fmt.Fprintf(&table, "wants %s\n", wants)
		when := map[string][]S{}
		for _, is := range allIs {
			stage := theStage(t, e, string(wants), string(is))
			when[stage] = append(when[stage], is)
		}
		for _, stage := range slices.Sorted(maps.Keys(when)) {
			fmt.Fprintf(&table, "  %-16s when it is %v\n", cmp.Or(stage, "nothing"), when[stage])
		}
	}
	return table.String()
}

// theStage returns the stage that matches. Two matches are an error.
func theStage(t *testing.T, e *engine, wants, is string) string {
	t.Helper()
	stages, err := e.stages.ListAllPossible(t.Context(), &lifecycle.Event{
		Data: document{"sim": document{"wants": wants, "is": is}},
	})
	if err != nil {
		t.Fatal(err)
	}
	switch len(stages) {
	case 0:
		return ""
	case 1:
		return stages[0].Name()
	}
	t.Fatalf("wants %s, is %s: both %s and %s match", wants, is, stages[0].Name(), stages[1].Name())
	return ""
}

func testEngine(t *testing.T, folder string, recorder record.EventRecorder) *engine {
	t.Helper()
	e, err := newEngine(folder, recorder)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The patch of the most complex stage is as expected.
func TestPatchOfACrash(t *testing.T) {
	t.Parallel()
	recorder := record.NewFakeRecorder(1)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "uid", Generation: 3},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "prepare", Image: "prepare:1"}},
			Containers:     []corev1.Container{{Name: "app", Image: "app:1"}, {Name: "proxy", Image: "proxy:1"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Unix(0, 0),
		}}},
	}
	words := podWords{
		Wants: podCrashed, Is: podReady, Address: "198.18.0.7", HostAddress: "127.0.0.1", Restarts: 2, Backoff: "20s",
	}
	var sent string
	e := testEngine(t, "pod", recorder)
	_, err := e.play(t.Context(), subject{
		object: pod, words: words, reference: &corev1.ObjectReference{},
		patch: func(_ context.Context, kind types.PatchType, data []byte, subresource string) error {
			patch, err := yaml.JSONToYAML(data)
			sent = fmt.Sprintf("# %s, %s\n%s", kind, subresource, patch)
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "crash-patch.yaml", hideTimes(sent))
	if event := <-recorder.Events; event != "Warning BackOff Back-off restarting failed container app in pod web" {
		t.Errorf("event %q", event)
	}
}

// hideTimes replaces current times, which differ between runs.
func hideTimes(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		before, _, found := strings.Cut(line, `: "20`)
		if found {
			lines[i] = before + ": NOW"
		}
	}
	return strings.Join(lines, "\n")
}

func TestStageWaitsUntilItIsDue(t *testing.T) {
	t.Parallel()
	e := testEngine(t, "pod", nil)
	due := time.Now().Add(time.Hour).Format(time.RFC3339Nano)
	again, err := e.play(t.Context(), subject{words: podWords{Wants: podReady, Is: podCreating, Due: due}})
	if err != nil || again < 59*time.Minute || again > time.Hour {
		t.Errorf("to be played after %v, error %v: want about an hour", again, err)
	}
}

// A request that is too late is not an error, and no event reports a change that did not happen.
func TestOutdatedRequestIsDropped(t *testing.T) {
	t.Parallel()
	recorder := record.NewFakeRecorder(1)
	resource := schema.GroupResource{Resource: "pods"}
	for _, refusal := range []error{
		apierrors.NewConflict(resource, "web", nil),
		apierrors.NewNotFound(resource, "web"),
	} {
		e := testEngine(t, "pod", recorder)
		_, err := e.play(t.Context(), subject{
			object: &corev1.Pod{}, words: podWords{Wants: podRefused, Is: podNew, Problem: "none"},
			reference: &corev1.ObjectReference{},
			patch:     func(context.Context, types.PatchType, []byte, string) error { return refusal },
		})
		if err != nil || len(recorder.Events) != 0 {
			t.Errorf("%v: error %v, %d events: want none", refusal, err, len(recorder.Events))
		}
	}
}

func TestPinAddsTheVersion(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid", ResourceVersion: "7"}}
	got, err := pin([]byte(`{"status":{}}`), pod)
	if want := `{"metadata":{"resourceVersion":"7","uid":"uid"},"status":{}}`; err != nil || string(got) != want {
		t.Errorf("got %s, error %v: want %s", got, err, want)
	}
}
