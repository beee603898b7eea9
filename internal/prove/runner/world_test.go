package runner_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/runner"
	"github.com/operon-framework/operon/internal/prove/testplan"
	"github.com/operon-framework/operon/internal/prove/workload"
	"github.com/operon-framework/operon/local/localtest"
)

// TestMain allows more parallel tests than there are processors, because tests mostly wait.
func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		play(os.Getenv(role))
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// shared is the witness of all tests in this package.
var shared = struct {
	sync.Mutex
	witness *clusterwatch.Witness
}{}

func newStage(t *testing.T, operator runner.Operator) *runner.Stage {
	t.Helper()
	return newStageBehind(t, &localtest.Gate{}, operator)
}

// newStageBehind returns a stage on which the operator's watches pass through a gate.
func newStageBehind(t *testing.T, gate *localtest.Gate, operator runner.Operator) *runner.Stage {
	t.Helper()
	return openStage(t, runner.Settings{Config: gate.Config(localtest.Shared(t).Config), Witness: witness(t), Operator: operator})
}

// witness returns the shared witness.
func witness(t *testing.T) *clusterwatch.Witness {
	t.Helper()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "../../../test/testdata/boxes.yaml")
	shared.Lock()
	defer shared.Unlock()
	if shared.witness == nil {
		w, err := clusterwatch.Start(t.Context(), env.Config)
		if err != nil {
			t.Fatal(err)
		}
		shared.witness = w
	}
	return shared.witness
}

func openStage(t *testing.T, settings runner.Settings) *runner.Stage {
	t.Helper()
	settings.Folder = t.TempDir()
	stage, err := runner.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return stage
}

func box(data string) *unstructured.Unstructured {
	made := object(boxKind, "one")
	made.Object["spec"] = map[string]any{"data": map[string]any{"n": data}}
	return made
}

// life is a workload in which a Box is created, changed and deleted.
var life = workload.Workload{Name: "life", Steps: []workload.Step{
	{Name: "create", Apply: []*unstructured.Unstructured{box("1")}},
	{Name: "change", Apply: []*unstructured.Unstructured{box("2")}},
	{Name: "delete", Delete: []workload.Ref{{APIVersion: "test.operon.dev/v1", Kind: "Box", Name: "one"}}},
}}

// quick is a pace for operators that react quickly.
var quick = runner.Pace{Unsure: 700 * time.Millisecond, Patience: 20 * time.Second}

func carry(t *testing.T, stage *runner.Stage, w workload.Workload, faults ...fault.Fault) *runlog.Trace {
	t.Helper()
	seen, err := stage.Carry(t.Context(), testplan.Plan{Name: t.Name(), Workload: w, Faults: faults}, quick)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// found returns the first object of a kind in a state, or nil.
func found(state []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	at := slices.IndexFunc(state, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	if at < 0 {
		return nil
	}
	return state[at]
}

func checkLife(t *testing.T, seen *runlog.Trace) {
	t.Helper()
	if len(seen.Steps) != 3 {
		t.Fatalf("there are %d steps: %+v", len(seen.Steps), seen)
	}
	for i, want := range []string{"1", "2"} {
		step := seen.Steps[i]
		child, one := found(step.State, "ConfigMap"), found(step.State, "Box")
		if !step.Silent || child == nil || one == nil {
			t.Fatalf("step %s ends in %+v, %s", step.Name, step.State, step.Why)
		}
		if got, _, _ := unstructured.NestedString(child.Object, "data", "n"); got != want {
			t.Errorf("step %s: data %q", step.Name, got)
		}
	}
	if left := seen.Steps[2].State; len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

func TestLife(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(boxOperator{}.run))
	seen := carry(t, stage, life)
	checkLife(t, seen)
	if len(seen.Requests) == 0 || len(seen.Changes) == 0 || len(seen.Exits) > 0 {
		t.Errorf("%d requests, %d changes, exits %+v", len(seen.Requests), len(seen.Changes), seen.Exits)
	}
	if seen.Began.IsZero() || !seen.Began.Before(seen.Started) {
		t.Errorf("its namespace was begun at %s, the run at %s", seen.Began, seen.Started)
	}
	for _, change := range seen.Changes {
		if change.Namespace != seen.Namespace {
			t.Errorf("a change of another world: %+v", change)
		}
	}
}

// An operator that is killed at any moment is started again and reaches the same final state.
func TestKilled(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(boxOperator{}.run))
	for _, moment := range []fault.Moment{fault.Before, fault.Effect, fault.Answer} {
		t.Run(string(moment), func(t *testing.T) {
			t.Parallel()
			seen := carry(t, stage, life, fault.Fault{Kind: fault.Kill, Moment: moment, On: fault.Match{Verb: "create", Resource: "configmaps"}})
			checkLife(t, seen)
			if len(seen.Exits) != 1 || !seen.Exits[0].Asked || seen.Exits[0].Step != "create" {
				t.Errorf("exits are %+v", seen.Exits)
			}
			if len(seen.Pending) > 0 {
				t.Errorf("pending are %v", seen.Pending)
			}
		})
	}
}

// A function that does not return when it is killed does not prevent the start of another instance. In this it is like a
// killed process.
func TestKilledAndLingering(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(func(ctx context.Context, access runner.Access) error {
		err := boxOperator{}.run(ctx, access)
		<-t.Context().Done()
		return err
	}))
	seen := carry(t, stage, life, fault.Fault{Kind: fault.Kill, Moment: fault.Effect, On: fault.Match{Verb: "create", Resource: "configmaps"}})
	checkLife(t, seen)
	if len(seen.Exits) != 1 || !seen.Exits[0].Asked {
		t.Errorf("exits are %+v", seen.Exits)
	}
}

// hasty is an operator whose first instance triggers a fault before its Start has returned.
type hasty struct{ first sync.Once }

// Start implements world.Operator.
func (h *hasty) Start(ctx context.Context, access runner.Access) (running runner.Running, err error) {
	run := runner.Function(boxOperator{}.run)
	h.first.Do(func() {
		asked := make(chan struct{})
		run = func(ctx context.Context, access runner.Access) error {
			api, err := kubernetes.NewForConfig(access.Config)
			if err == nil {
				get := api.CoreV1().RESTClient().Get().MaxRetries(0).Namespace(access.Namespace).Resource("configmaps").Name("nothing")
				_ = get.Do(ctx).Error() // it is cut
			}
			close(asked)
			<-ctx.Done()
			return err
		}
		running, err = run.Start(ctx, access)
		<-asked
	})
	if running != nil || err != nil {
		return running, err
	}
	return run.Start(ctx, access)
}

// An instance for which a kill is requested while it is being started is killed.
func TestKilledWhileStarted(t *testing.T) {
	t.Parallel()
	stage := newStage(t, &hasty{})
	seen := carry(t, stage, life, fault.Fault{Kind: fault.Kill, Moment: fault.Before, On: fault.Match{Verb: "get", Resource: "configmaps"}})
	checkLife(t, seen)
	if len(seen.Exits) != 1 || !seen.Exits[0].Asked {
		t.Errorf("exits are %+v", seen.Exits)
	}
}

// Concurrent worlds do not see each other.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(boxOperator{}.run))
	for range 3 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			seen := carry(t, stage, life)
			checkLife(t, seen)
			for _, r := range seen.Requests {
				if r.IsWrite() && r.Namespace != seen.Namespace {
					t.Errorf("a write to %s: %s", r.Namespace, r.String())
				}
			}
		})
	}
}

// An operator that exits on its own is started again a limited number of times.
func TestEndsByItself(t *testing.T) {
	t.Parallel()
	broken := func(ctx context.Context, access runner.Access) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		operator := boxOperator{before: func() error {
			cancel(nil)
			return nil
		}}
		if err := operator.run(ctx, access); err != nil {
			return err
		}
		return errors.New("this is the end")
	}
	seen := carry(t, newStage(t, runner.Function(broken)), workload.Workload{Steps: life.Steps[:1]})
	if len(seen.Exits) < 3 || seen.Exits[0].Asked || seen.Exits[0].Code != 1 {
		t.Errorf("exits are %+v", seen.Exits)
	}
	if step := seen.Steps[0]; step.Silent || !strings.Contains(step.Why, "exited on its own") {
		t.Errorf("the step ends with %+v", step)
	}
}

// An operator that waits for the port of another run, however long, does not count as one that ignores the proxy.
func TestPortOfAnotherRun(t *testing.T) {
	t.Parallel()
	starts := 0
	waiting := func(ctx context.Context, access runner.Access) error {
		if starts++; starts > 4 {
			return boxOperator{}.run(ctx, access)
		}
		select { // longer in total than the time limit for the first request
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(7 * time.Second):
			return errors.New("listen tcp 127.0.0.1:8080: bind: address already in use")
		}
	}
	seen := carry(t, newStage(t, runner.Function(waiting)), workload.Workload{Steps: life.Steps[:1]})
	if len(seen.Exits) != 4 || !seen.Exits[0].PortTaken() || len(seen.Requests) == 0 {
		t.Errorf("exits are %+v, with %d requests", seen.Exits, len(seen.Requests))
	}
}

// An operator that never becomes quiescent does not delay the run forever.
func TestNeverSilent(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(boxOperator{before: func() error { return errors.New("once more") }}.run))
	seen, err := stage.Carry(t.Context(), testplan.Plan{Workload: workload.Workload{Steps: life.Steps[:1]}}, runner.Pace{Settle: time.Hour, Unsure: time.Hour, Patience: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if step := seen.Steps[0]; step.Silent || !strings.HasPrefix(step.Why, "after 2s") {
		t.Errorf("the step ends with %+v", step)
	}
}

// Patience limits only the operator. The cluster gets the time that it needs to set up a namespace.
func TestPatienceIsNotForTheCluster(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(boxOperator{}.run))
	if _, err := stage.Carry(t.Context(), testplan.Plan{Workload: workload.Workload{Steps: life.Steps[:1]}}, runner.Pace{Patience: time.Nanosecond}); err != nil {
		t.Error(err)
	}
}

// An operator that does not use the proxy is distinguished from an operator that has nothing to do.
func TestPastTheProxy(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(func(ctx context.Context, _ runner.Access) error { <-ctx.Done(); return nil }))
	_, err := stage.Carry(t.Context(), testplan.Plan{Workload: life}, quick)
	if err == nil || !strings.Contains(err.Error(), "KUBECONFIG") {
		t.Errorf("the error is %v", err)
	}
}

// Writes of an operator with a second client that bypasses the proxy are found, although its first client uses the proxy.
func TestASecondClientPastTheProxy(t *testing.T) {
	t.Parallel()
	direct, err := client.New(localtest.Shared(t).Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stage := newStage(t, runner.Function(func(ctx context.Context, access runner.Access) error {
		past := object(configMapKind, "past")
		past.SetNamespace(access.Namespace)
		past.Object["data"] = map[string]any{"sent": "directly"}
		return boxOperator{before: func() error { return client.IgnoreAlreadyExists(direct.Create(ctx, past.DeepCopy())) }}.run(ctx, access)
	}))
	seen := carry(t, stage, workload.Workload{Steps: life.Steps[:1]})
	if want := []string{"ConfigMap/past"}; !slices.Equal(seen.Beside, want) {
		t.Errorf("past the proxy were written %q, want %q", seen.Beside, want)
	}
}

// A panic that controller-runtime recovers is found, although the operator continues.
func TestRecoveredPanic(t *testing.T) {
	t.Parallel()
	var once sync.Once
	stage := newStage(t, runner.Function(boxOperator{before: func() error {
		once.Do(func() { panic("no such box") })
		return nil
	}}.run))
	seen := carry(t, stage, workload.Workload{Steps: life.Steps[:1]})
	if len(seen.Exits) != 1 || !strings.Contains(seen.Exits[0].Panic, "Observed a panic: no such box") {
		t.Errorf("exits are %+v", seen.Exits)
	}
}

// An object that the API server rejects is reported for its step and does not fail the run.
func TestRefused(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(boxOperator{}.run))
	wrong := box("1")
	wrong.Object["spec"] = "not an object"
	seen := carry(t, stage, workload.Workload{Steps: []workload.Step{{Name: "wrong", Apply: []*unstructured.Unstructured{wrong}, Refused: true}}})
	if !strings.Contains(seen.Steps[0].Refused, "spec") || len(seen.Steps[0].State) > 0 {
		t.Errorf("the step ends with %+v", seen.Steps[0])
	}
}

// Changes outside the namespace are merged in order: a step does not contain later changes.
func TestElsewhereInOrder(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(boxOperator{}.run))
	far := object(configMapKind, "far-"+strings.ToLower(rand.Text()[:6]))
	far.SetNamespace("default")
	steps := slices.Clone(life.Steps)
	steps[0].Apply = []*unstructured.Unstructured{far, box("1")}
	seen := carry(t, stage, workload.Workload{Name: "elsewhere", Steps: steps})
	if !slices.ContainsFunc(seen.Changes, func(c runlog.Change) bool { return c.Name == far.GetName() }) {
		t.Errorf("%s is not among the changes", far.GetName())
	}
	for i, step := range seen.Steps {
		for _, change := range seen.Changes[:step.LastChange] {
			if change.At.After(step.At.Add(step.Took)) {
				t.Errorf("at its end, the step %d knows that %s/%s is %s", i, change.Kind, change.Name, change.Type)
			}
		}
	}
}

// If an operator repeats the same write without end and nothing else happens, the step ends before Patience is
// over.
func TestChurn(t *testing.T) {
	t.Parallel()
	stage := newStage(t, runner.Function(boxOperator{again: 50 * time.Millisecond}.run))
	began := time.Now()
	seen, err := stage.Carry(t.Context(), testplan.Plan{Workload: workload.Workload{Steps: life.Steps[:1]}}, runner.Pace{Patience: 45 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if step := seen.Steps[0]; step.Silent || !strings.HasPrefix(step.Why, "the operator keeps writing, and nothing else happens: update boxes") {
		t.Errorf("after %s the step ends with %+v", time.Since(began), step)
	}
}
