package action_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// acting is a composer of Boxes that has actions.
type acting struct {
	boxtest.ComposeFunc
	actions operon.Actions[*boxtest.Box]
}

func (a acting) Actions() operon.Actions[*boxtest.Box] { return a.actions }

// deeds is a fixture in which the kinds of actions are installed.
type deeds struct {
	*fixture
	did boxtest.Record
}

func newDeeds(t *testing.T) *deeds {
	t.Helper()
	w := newFixture(t)
	w.InstallCRDs(t, boxtest.File(t, "api/actions/v1alpha1/crd"))
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, boxtest.AddToScheme, v1alpha1.AddToScheme} {
		w.Must(add(scheme))
	}
	var err error
	w.Client, err = client.New(w.Config, client.Options{Scheme: scheme})
	w.Must(err)
	return &deeds{fixture: w}
}

func (d *deeds) serve(actions operon.Actions[*boxtest.Box]) (*boxtest.Traffic, func()) {
	return d.Run(acting{boxtest.Nothing, actions})
}

func (d *deeds) ask(name string, spec v1alpha1.ActionSpec) *v1alpha1.Action {
	d.Helper()
	if spec.Target.Name == "" {
		spec.Target = v1alpha1.Target{APIGroup: "test.operon.dev", Kind: "Box", Name: "one"}
	}
	a := &v1alpha1.Action{ObjectMeta: d.Meta(name), Spec: spec}
	d.Must(d.Client.Create(d.Context(), a))
	return a
}

// comes waits until an Action has the given phase, with a text in its Ready condition.
func (d *deeds) comes(a *v1alpha1.Action, phase journal.Phase, reason, text string) {
	d.Helper()
	d.Eventually(fmt.Sprintf("%s to be %s", a.Name, phase), func(ctx context.Context) error {
		if err := d.Client.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(a.Status.Conditions, "Ready")
		now := journal.Phase("")
		if a.Status.Journal != nil {
			now = a.Status.Journal.Phase
		}
		if ready == nil || now != phase || ready.Reason != reason || !strings.Contains(ready.Message, text) {
			return fmt.Errorf("it is %q, %+v", now, ready)
		}
		return nil
	})
}

// An action runs with its parameters, and another action uses its result.
func TestActions(t *testing.T) {
	t.Parallel()
	d := newDeeds(t)
	requests, _ := d.serve(operon.Actions[*boxtest.Box]{
		"backup": func(ctx context.Context, b *boxtest.Box, act *operon.ActionContext) error {
			if err := boxtest.DoAll(ctx, act.Run, d.did.Step("dump "+b.Name, nil)); err != nil {
				return err
			}
			act.Artifact("dump", act.Parameters["to"]+"/"+b.Name)
			return nil
		},
		"restore": func(ctx context.Context, b *boxtest.Box, act *operon.ActionContext) error {
			return boxtest.DoAll(ctx, act.Run, d.did.Step("load "+act.Artifacts["dump"], nil))
		},
	})
	restore := d.ask("restore", v1alpha1.ActionSpec{Action: "restore", ArtifactsFrom: "backup"})
	d.comes(restore, "", durable.ReasonWaiting, "there is no Box one")
	d.Box("one", nil)
	d.comes(restore, "", durable.ReasonWaiting, "there is no Action backup to take artifacts from")
	backup := d.ask("backup", v1alpha1.ActionSpec{Action: "backup", Parameters: map[string]v1alpha1.Parameter{"to": "disk"}})
	d.comes(backup, journal.Succeeded, "Ready", "")
	d.comes(restore, journal.Succeeded, "Ready", "")
	if want := []string{"do dump one", "do load disk/one"}; !slices.Equal(d.did.All(), want) {
		t.Errorf("the actions did %q, want %q", d.did.All(), want)
	}
	unknown := d.ask("unknown", v1alpha1.ActionSpec{Action: "bakcup"})
	d.comes(unknown, journal.Failed, durable.ReasonFailed, `kind Box has no action "bakcup", only backup, restore`)
	before := len(boxtest.OfStates(requests.All(true)))
	d.Change(backup, func() { backup.Labels = map[string]string{"poke": "it"} })
	d.Still("no write for an action that is over", func(context.Context) error {
		if all := boxtest.OfStates(requests.All(true)); len(all) > before {
			return fmt.Errorf("there was %q", all[before:])
		}
		return nil
	})
	err := d.Client.Patch(t.Context(), backup, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"parameters":{"to":"tape"}}}`)))
	if err == nil || !strings.Contains(err.Error(), "parameters are immutable") {
		t.Errorf("an Action was changed: %v", err)
	}
}

// Of two Actions on one object, only one runs at a time. Actions on another operator's kind are ignored.
func TestActionsTakeTurns(t *testing.T) {
	t.Parallel()
	d := newDeeds(t)
	d.serve(operon.Actions[*boxtest.Box]{"wait": func(ctx context.Context, b *boxtest.Box, act *operon.ActionContext) error {
		return boxtest.DoAll(ctx, act.Run, d.did.Step(act.Name, func(context.Context, *durable.Attempt) error { return durable.Wait("for ever") }))
	}})
	d.Box("one", nil)
	foreign := d.ask("foreign", v1alpha1.ActionSpec{Action: "wait", Target: v1alpha1.Target{APIGroup: "elsewhere.dev", Kind: "Box", Name: "one"}})
	first := d.ask("first", v1alpha1.ActionSpec{Action: "wait"})
	d.comes(first, journal.Running, durable.ReasonWaiting, "step first: for ever")
	second := d.ask("second", v1alpha1.ActionSpec{Action: "wait"})
	d.comes(second, "", durable.ReasonWaiting, "the Action first is running on Box one")
	d.Change(first, func() { first.Spec.Cancel = true })
	d.comes(first, journal.Canceled, durable.ReasonCanceled, "spec.cancel is true")
	d.comes(second, journal.Running, durable.ReasonWaiting, "step second: for ever")
	d.Must(d.Client.Delete(t.Context(), second))
	d.Eventually("the second to go", func(ctx context.Context) error {
		if err := d.Client.Get(ctx, client.ObjectKeyFromObject(second), second); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("it is there, %v", err)
		}
		return nil
	})
	if want := []string{"undo first", "undo second"}; !slices.Equal(d.did.All(), want) {
		t.Errorf("the actions did %q, want %q", d.did.All(), want)
	}
	d.Must(d.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign))
	if len(foreign.Status.Conditions) > 0 {
		t.Errorf("the Action on another operator's kind has the status %+v", foreign.Status)
	}
}

// Of Actions that are created at the same time, only one runs at a time.
func TestActionsAtOnce(t *testing.T) {
	t.Parallel()
	d := newDeeds(t)
	d.Box("one", nil)
	var all []*v1alpha1.Action
	for i := range 4 {
		all = append(all, d.ask(fmt.Sprint("at-once-", i), v1alpha1.ActionSpec{Action: "wait"}))
	}
	d.serve(operon.Actions[*boxtest.Box]{"wait": func(ctx context.Context, b *boxtest.Box, act *operon.ActionContext) error {
		return boxtest.DoAll(ctx, act.Run, d.did.Step(act.Name, func(ctx context.Context, a *durable.Attempt) error {
			found, err := a.Get(ctx, boxtest.ConfigMap("signal", nil))
			if err != nil || found {
				return err
			}
			return durable.Wait("for the signal")
		}))
	}})
	d.Eventually("one to be at work, and the others to wait for it", func(ctx context.Context) error {
		var told []string
		for _, a := range all {
			if err := d.Client.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
				return err
			}
			if ready := meta.FindStatusCondition(a.Status.Conditions, "Ready"); ready != nil {
				told = append(told, ready.Message)
			}
		}
		text := strings.Join(told, "\n")
		if strings.Count(text, "for the signal") != 1 || strings.Count(text, "is running on Box one") != len(all)-1 {
			return fmt.Errorf("they say %q", told)
		}
		return nil
	})
	signal := boxtest.ConfigMap("signal", nil)
	signal.Namespace = d.Namespace
	d.Must(d.Client.Create(t.Context(), signal))
	for _, a := range all {
		d.comes(a, journal.Succeeded, "Ready", "")
	}
}

// If an Action is deleted whose steps need not be undone, the context of its current step ends, and no other Action begins before that step has ended.
func TestActionAfterOneThatIsDeleted(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*deeds, acting){
		"one replica": func(d *deeds, acts acting) { d.Run(acts) },
		"shared":      func(d *deeds, acts acting) { d.Share(acts, 8) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeeds(t)
			running, stopped, thaw := make(chan struct{}), make(chan struct{}), make(chan struct{})
			goOn := sync.OnceFunc(func() { close(thaw) })
			serve(d, acting{boxtest.Nothing, operon.Actions[*boxtest.Box]{"work": func(ctx context.Context, _ *boxtest.Box, act *operon.ActionContext) error {
				return boxtest.DoAll(ctx, act.Run, durable.Step[string]{Name: act.Name, Do: func(ctx context.Context, _ *durable.Attempt) (string, error) {
					if act.Name == "first" {
						close(running)
						<-ctx.Done()
						close(stopped)
						<-thaw
					}
					return "", nil
				}})
			}}})
			t.Cleanup(goOn)
			d.Box("one", nil)
			first := d.ask("first", v1alpha1.ActionSpec{Action: "work"})
			localtest.Receive(t, "the step of the first", running)
			second := d.ask("second", v1alpha1.ActionSpec{Action: "work"})
			d.comes(second, "", durable.ReasonWaiting, "the Action first is running on Box one")
			d.Must(d.Client.Delete(t.Context(), first))
			d.Gone(first)
			localtest.Receive(t, "the end of the context of the first", stopped)
			d.comes(second, "", durable.ReasonWaiting, "a deleted Action is still running on Box one")
			goOn()
			d.comes(second, journal.Succeeded, "Ready", "")
		})
	}
}

// An Action is canceled if its target was deleted, even if another object with the same name exists.
func TestActionOnWhatIsGone(t *testing.T) {
	t.Parallel()
	d := newDeeds(t)
	waits := operon.Actions[*boxtest.Box]{"wait": func(ctx context.Context, b *boxtest.Box, act *operon.ActionContext) error {
		return boxtest.DoAll(ctx, act.Run, d.did.Step(act.Name, func(context.Context, *durable.Attempt) error { return durable.Wait("for ever") }))
	}}
	_, stop := d.serve(waits)
	b := d.Box("one", nil)
	a := d.ask("first", v1alpha1.ActionSpec{Action: "wait"})
	d.comes(a, journal.Running, durable.ReasonWaiting, "for ever")
	d.Must(d.Client.Delete(t.Context(), b))
	d.comes(a, journal.Canceled, durable.ReasonCanceled, "Box one is gone")

	b = d.Box("one", nil)
	a = d.ask("second", v1alpha1.ActionSpec{Action: "wait"})
	d.comes(a, journal.Running, durable.ReasonWaiting, "for ever")
	stop() // so the operator does not see that the object is missing for a while
	d.Must(d.Client.Delete(t.Context(), b))
	d.Box("one", nil)
	d.serve(waits)
	d.comes(a, journal.Canceled, durable.ReasonCanceled, "Box one is gone")
	if want := []string{"undo first", "undo second"}; !slices.Equal(d.did.All(), want) {
		t.Errorf("the action did %q, want %q", d.did.All(), want)
	}
}

// A schedule creates an Action when it is due, retains the configured number, and reports a schedule that it cannot parse.
func TestActionSchedule(t *testing.T) {
	t.Parallel()
	d := newDeeds(t)
	acts := acting{boxtest.Nothing, operon.Actions[*boxtest.Box]{"backup": func(ctx context.Context, b *boxtest.Box, act *operon.ActionContext) error {
		return boxtest.DoAll(ctx, act.Run, d.did.Step("dump", nil))
	}}}
	early := boxtest.Ahead{By: time.Until(time.Now().Truncate(time.Minute).Add(59 * time.Second))}
	d.RunWith(d.Config, operon.Config{Namespace: d.Namespace, Clock: early}, operon.API(boxtest.AddToScheme), operon.Manage(acts))
	d.Box("one", nil)
	schedule := &v1alpha1.ActionSchedule{ObjectMeta: d.Meta("often"), Spec: v1alpha1.ActionScheduleSpec{
		Schedule: "61 * * * *",
		Template: v1alpha1.ActionSpec{Action: "backup", Target: v1alpha1.Target{APIGroup: "test.operon.dev", Kind: "Box", Name: "one"}},
	}}
	d.Must(d.Client.Create(t.Context(), schedule))
	d.readySchedule(schedule, metav1.ConditionFalse, `spec.schedule: "61 * * * *": end of range (61) above maximum (59)`)
	d.Change(schedule, func() { schedule.Spec.Schedule = "* * * * *" })
	d.readySchedule(schedule, metav1.ConditionTrue, "")
	if schedule.Status.NextAt == nil || schedule.Status.NextAt.Sub(early.Now()) > time.Minute {
		t.Errorf("the next is due at %v", schedule.Status.NextAt)
	}
	d.Eventually("an Action that was made and has succeeded", func(ctx context.Context) error {
		var made v1alpha1.ActionList
		if err := d.Client.List(ctx, &made, client.InNamespace(d.Namespace)); err != nil {
			return err
		}
		if len(made.Items) == 0 || made.Items[0].Status.Journal == nil || made.Items[0].Status.Journal.Phase != journal.Succeeded {
			return fmt.Errorf("there is %+v", made.Items)
		}
		return nil
	})
}

// halted is a clock that does not advance.
type halted struct {
	clock.RealClock
	at time.Time
}

func (f halted) Now() time.Time { return f.at }

// A schedule with atOnce creates its first Action at once, and only once even if none is retained. It is ready all the time,
// even while its lists may be stale, which this clock causes permanently.
func TestActionScheduleAtOnce(t *testing.T) {
	t.Parallel()
	d := newDeeds(t)
	acts := acting{boxtest.Nothing, operon.Actions[*boxtest.Box]{"backup": func(ctx context.Context, b *boxtest.Box, act *operon.ActionContext) error {
		return boxtest.DoAll(ctx, act.Run, d.did.Step("dump", nil))
	}}}
	d.RunWith(d.Config, operon.Config{Namespace: d.Namespace, Clock: halted{at: time.Now()}}, operon.API(boxtest.AddToScheme), operon.Manage(acts))
	d.Box("one", nil)
	schedule := &v1alpha1.ActionSchedule{ObjectMeta: d.Meta("yearly"), Spec: v1alpha1.ActionScheduleSpec{
		Schedule: "@yearly", AtOnce: true, SuccessfulHistory: new(int32(0)),
		Template: v1alpha1.ActionSpec{Action: "backup", Target: v1alpha1.Target{APIGroup: "test.operon.dev", Kind: "Box", Name: "one"}},
	}}
	d.Must(d.Client.Create(t.Context(), schedule))
	d.Eventually("the Action to be done, and to be gone", func(ctx context.Context) error {
		var made v1alpha1.ActionList
		if err := d.Client.List(ctx, &made, client.InNamespace(d.Namespace)); err != nil {
			return err
		}
		if all := d.did.All(); len(made.Items) > 0 || len(all) != 1 {
			return fmt.Errorf("there are %d, and they did %q", len(made.Items), all)
		}
		return nil
	})
	d.readySchedule(schedule, metav1.ConditionTrue, "")
	if all := d.did.All(); len(all) != 1 || schedule.Status.LastScheduledAt == nil {
		t.Errorf("the Actions did %q, and the last was made for %v", all, schedule.Status.LastScheduledAt)
	}
}

func (d *deeds) readySchedule(s *v1alpha1.ActionSchedule, status metav1.ConditionStatus, text string) {
	d.Helper()
	d.Eventually("the schedule to be Ready="+string(status), func(ctx context.Context) error {
		if err := d.Client.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(s.Status.Conditions, "Ready")
		if ready == nil || ready.Status != status || s.Status.ObservedGeneration != s.Generation || !strings.Contains(ready.Message, text) {
			return fmt.Errorf("it is %+v", ready)
		}
		return nil
	})
}

// turns records which Action is running on each target: one at a time, from the first step to the last.
type turns struct {
	mu    sync.Mutex
	now   map[string]string
	made  map[string]bool
	wrong []string
}

// step returns a step of an Action on a target.
func (s *turns) step(target, act, name string, last bool) durable.Step[string] {
	return durable.Step[string]{Name: name, Do: func(ctx context.Context, a *durable.Attempt) (string, error) {
		s.mu.Lock()
		if now := s.now[target]; now != "" && now != act {
			s.wrong = append(s.wrong, fmt.Sprintf("%s on %s, while %s was at work", act, target, now))
		}
		s.now[target] = act
		s.made[a.Key] = true
		s.mu.Unlock()
		if err := boxtest.Pause(ctx, 20*time.Millisecond); err != nil {
			return "", err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if last {
			s.now[target] = ""
		}
		return name, nil
	}}
}

// If replicas share the Actions, Actions on one object still run one at a time, and each runs once, while replicas start and
// stop.
func TestActionsWhereReplicasShare(t *testing.T) {
	t.Parallel()
	d := newDeeds(t)
	all := &turns{now: map[string]string{}, made: map[string]bool{}}
	acts := acting{boxtest.Nothing, operon.Actions[*boxtest.Box]{"work": func(ctx context.Context, b *boxtest.Box, act *operon.ActionContext) error {
		return boxtest.DoAll(ctx, act.Run, all.step(b.Name, act.Name, "first", false), all.step(b.Name, act.Name, "last", true))
	}}}
	_, stop := d.Share(acts, 8)
	d.Share(acts, 8)
	d.Even(2)
	var asked []*v1alpha1.Action
	for _, target := range []string{"one", "two"} {
		d.Box(target, nil)
		for i := range 8 {
			spec := v1alpha1.ActionSpec{Action: "work", Target: v1alpha1.Target{APIGroup: "test.operon.dev", Kind: "Box", Name: target}}
			asked = append(asked, d.ask(fmt.Sprint(target, "-", i), spec))
		}
	}
	d.comes(asked[0], journal.Succeeded, "Ready", "")
	d.Share(acts, 8)
	stop()
	for _, a := range asked {
		d.comes(a, journal.Succeeded, "Ready", "")
		for _, step := range a.Status.Journal.Steps {
			if step.Attempts > 3 { // one more for each handover that interrupted it: a replica joins, and another one stops
				t.Errorf("the step %s of %s was begun %d times", step.Name, a.Name, step.Attempts)
			}
		}
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.wrong) > 0 || len(all.made) != 2*len(asked) {
		t.Errorf("of %d steps of %d Actions: %q", len(all.made), len(asked), all.wrong)
	}
}
