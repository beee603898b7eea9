package steps_test

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/durable/steps"
)

// cluster is an API server in memory, with a run that continues where it stopped.
type cluster struct {
	client.Client
	t       *testing.T
	journal *journal.Journal
	held    bool // whether the run was ever held
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	built := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).WithStatusSubresource(&batchv1.Job{}, &appsv1.Deployment{}).Build()
	return &cluster{Client: built, t: t}
}

// reader reads objects for a step.
type reader struct{ *cluster }

// Get implements durable.Reader.
func (r reader) Get(ctx context.Context, object client.Object) (bool, error) {
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
	return err == nil, client.IgnoreNotFound(err)
}

// List implements durable.Reader.
func (r reader) List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, _ ...client.ListOption) error {
	return r.Client.List(ctx, list, labels)
}

// call executes the work as far as possible, and returns the phase of the run.
func (c *cluster) call(cancel string, work func(context.Context, *durable.Run) error) journal.Phase {
	c.t.Helper()
	run := durable.New(durable.Config{
		Object: "uid", Cancel: cancel, Clock: clock.RealClock{}, Journal: c.journal, Client: c.Client, Reader: reader{c},
		Save:    func(_ context.Context, j *journal.Journal) (*journal.Journal, error) { return j, nil },
		Confirm: func(context.Context) error { return nil },
		Hold:    func(context.Context) error { c.held = true; return nil },
		Release: func(context.Context) error { return nil },
	})
	if _, err := run.Carry(c.t.Context(), work); err != nil {
		c.t.Fatal(err)
	}
	c.journal = run.Journal()
	return c.journal.Phase
}

// jobs returns the existing Jobs.
func (c *cluster) jobs() []batchv1.Job {
	c.t.Helper()
	var all batchv1.JobList
	if err := c.List(c.t.Context(), &all, client.InNamespace("shop")); err != nil {
		c.t.Fatal(err)
	}
	return all.Items
}

// A Job is created once, under the step's key, and is deleted when the run is over: whatever the result is, and also if the
// run is canceled before the Job ends.
func TestJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end    batchv1.JobConditionType // "" while it continues
		cancel string
		want   journal.Phase
	}{
		"done":     {batchv1.JobComplete, "", journal.Succeeded},
		"failed":   {batchv1.JobFailed, "", journal.Failed},
		"canceled": {"", "not wanted any more", journal.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newCluster(t)
			work := func(ctx context.Context, run *durable.Run) error {
				_, err := durable.Do(ctx, run, steps.Job("move", &batchv1.Job{
					ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "move"}, Spec: batchv1.JobSpec{TTLSecondsAfterFinished: new(int32(0))},
				}))
				return err
			}
			for range 2 {
				at.call("", work)
			}
			jobs := at.jobs()
			if len(jobs) != 1 || !strings.HasPrefix(jobs[0].Name, "move-") || !strings.HasPrefix(jobs[0].Labels[steps.KeyLabel], strings.TrimPrefix(jobs[0].Name, "move-")) {
				t.Fatalf("there are %+v", jobs)
			}
			if jobs[0].Spec.TTLSecondsAfterFinished != nil {
				t.Error("the Job goes before the step has seen its end")
			}
			if c.end != "" {
				jobs[0].Status.Conditions = []batchv1.JobCondition{{Type: c.end, Status: corev1.ConditionTrue}}
				if err := at.Status().Update(t.Context(), &jobs[0]); err != nil {
					t.Fatal(err)
				}
			}
			if phase := at.call(c.cancel, work); phase != c.want {
				t.Errorf("the run is %s, want %s", phase, c.want)
			}
			if left := at.jobs(); len(left) > 0 {
				t.Errorf("when the run is over there is %s", left[0].Name)
			}
		})
	}
}

// A Job that cannot exist fails its step before the object is held, and there is nothing to clean up.
func TestJobThatCannotExist(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ namespace, name, want string }{
		{"", "move", "step move failed: the Job needs a name and a namespace"},
		{"shop", "", "step move failed: the Job needs a name and a namespace"},
		{"shop", "move/it", `step move failed: no Job can have the name "move/it": `},
		{"shop/2", "move", `step move failed: no Job can have the namespace "shop/2": `},
	} {
		at := newCluster(t)
		phase := at.call("", func(ctx context.Context, run *durable.Run) error {
			_, err := durable.Do(ctx, run, steps.Job("move", &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: c.name}}))
			return err
		})
		if phase != journal.Failed || at.held || !strings.HasPrefix(at.journal.Message, c.want) {
			t.Errorf("Job %s/%s: the run is %s (held: %t): %s", c.namespace, c.name, phase, at.held, at.journal.Message)
		}
	}
}

// A temporary change of the scale is reverted when the run is over. A permanent change is reverted only if the run is undone.
func TestScale(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		back   bool
		cancel string
		want   int32
	}{
		"for a while":               {back: true, want: 2},
		"for a while, and undone":   {back: true, cancel: "not wanted any more", want: 2},
		"for good":                  {want: 5},
		"for good, and then undone": {cancel: "not wanted any more", want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}}
			at := newCluster(t, web)
			waits := true
			work := func(ctx context.Context, run *durable.Run) error {
				before, err := steps.Scale(ctx, run, "up", web.DeepCopy(), 5, c.back)
				if err != nil {
					return err
				}
				if before != 2 {
					t.Errorf("there were %d pods, want 2", before)
				}
				_, err = durable.Do(ctx, run, durable.Step[bool]{Name: "after", Do: func(context.Context, *durable.Attempt) (bool, error) {
					if waits {
						return false, durable.Wait("for the signal")
					}
					return true, nil
				}})
				return err
			}
			replicas := func() int32 {
				at.call("", work)
				now := web.DeepCopy()
				if err := at.Get(t.Context(), client.ObjectKeyFromObject(web), now); err != nil {
					t.Fatal(err)
				}
				now.Status.Replicas = *now.Spec.Replicas // as its controller does in the end
				if err := at.Status().Update(t.Context(), now); err != nil {
					t.Fatal(err)
				}
				return *now.Spec.Replicas
			}
			if got := replicas(); got != 5 {
				t.Fatalf("while it is scaled there are %d", got)
			}
			_ = replicas()
			waits = false
			for range 2 { // scaled back, with the previous number of pods
				at.call(c.cancel, work)
				if got := replicas(); got != c.want {
					t.Errorf("when the run is over there are %d, want %d", got, c.want)
				}
			}
			if !at.journal.Phase.Over() {
				t.Errorf("the run is %s", at.journal.Phase)
			}
		})
	}
}
