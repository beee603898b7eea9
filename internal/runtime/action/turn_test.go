package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
)

// asked returns an Action on a target. Each was created in a different second: names that come later in the alphabet are younger.
func asked(name, target string) *v1alpha1.Action {
	a := &v1alpha1.Action{ObjectMeta: metav1.ObjectMeta{Namespace: "here", Name: name, UID: types.UID("uid-" + name)}}
	a.CreationTimestamp = metav1.NewTime(time.Unix(int64(name[0]), 0))
	a.Spec = v1alpha1.ActionSpec{Action: "backup", Target: v1alpha1.Target{APIGroup: "example.com", Kind: "Box", Name: target}}
	return a
}

// in sets the phase of an Action.
func in(phase journal.Phase, a *v1alpha1.Action) *v1alpha1.Action {
	a.Status.Journal = &journal.Journal{Version: journal.Version, ID: a.Name, Phase: phase}
	return a
}

// stored sets the journal of an Action to a text.
func stored(text string, a *v1alpha1.Action) *v1alpha1.Action {
	a.Status.Journal = &journal.Journal{}
	if err := json.Unmarshal([]byte(text), a.Status.Journal); err != nil {
		panic(err) // a test wrote the text
	}
	return a
}

// Journals of a newer operator.
const (
	newerDone    = `{"version":2,"phase":"Succeeded","finishedAt":"2026-01-01T00:00:00Z"}`
	newerRunning = `{"version":2,"phase":"Running"}`
	newerWaits   = "the Action b may be running on Box one: its journal is of version 2, and this operator knows 1: run the newer operator again"
)

// wants makes an Action announce that it is about to begin.
func wants(a *v1alpha1.Action) *v1alpha1.Action {
	a.Annotations = map[string]string{TurnAnnotation: string(a.UID)}
	return a
}

// place is an API server with Actions.
type place struct {
	client.WithWatch
	// patched lists the Actions whose annotation was written, and watched the Actions that the work reads, in order.
	patched, watched []string
	// meanwhile is called once, after the first write.
	meanwhile func()
}

func newPlace(t *testing.T, actions ...*v1alpha1.Action) *place {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	p := &place{}
	all := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Action{})
	for _, a := range actions {
		all = all.WithObjects(a.DeepCopy())
	}
	p.WithWatch = interceptor.NewClient(all.Build(), interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
		p.patched = append(p.patched, o.GetName())
		err := c.Patch(ctx, o, patch, options...)
		if then := p.meanwhile; then != nil {
			p.meanwhile = nil
			then()
		}
		return err
	}})
	return p
}

// reader reads objects for the work.
type reader struct{ *place }

// Get implements durable.Reader.
func (r reader) Get(ctx context.Context, object client.Object) (bool, error) {
	object.SetNamespace("here")
	r.watched = append(r.watched, object.GetName())
	err := r.WithWatch.Get(ctx, client.ObjectKeyFromObject(object), object)
	return err == nil, client.IgnoreNotFound(err)
}

// List implements durable.Reader.
func (r reader) List(context.Context, client.ObjectList, client.MatchingLabels, ...client.ListOption) error {
	return errors.New("turns are not taken by labels")
}

// told returns the message for an Action that tries to take its turn, or "" if it has the turn.
func (p *place) told(t *testing.T, turns turns, a *v1alpha1.Action) string {
	t.Helper()
	run := durable.New(durable.Config{Object: string(a.UID), Reader: reader{p}})
	if err := turns.take(t.Context(), a, run); err != nil {
		return err.Error()
	}
	return ""
}

func TestTurnsAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others []*v1alpha1.Action
		waits  string // the message
	}{
		"nobody else":                  {nil, ""},
		"one that has not begun":       {[]*v1alpha1.Action{asked("b", "one")}, ""},
		"one that has begun":           {[]*v1alpha1.Action{in(journal.Running, asked("b", "one"))}, "the Action b is running on Box one"},
		"one that is being undone":     {[]*v1alpha1.Action{in(journal.Undoing, asked("b", "one"))}, "the Action b is running on Box one"},
		"one that is over":             {[]*v1alpha1.Action{in(journal.Failed, asked("b", "one"))}, ""},
		"one that cannot be read":      {[]*v1alpha1.Action{stored(newerRunning, asked("b", "one"))}, newerWaits},
		"one that is over, and newer":  {[]*v1alpha1.Action{stored(newerDone, asked("b", "one"))}, ""},
		"one that works on another":    {[]*v1alpha1.Action{in(journal.Running, asked("b", "two"))}, ""},
		"one of two that has begun":    {[]*v1alpha1.Action{asked("b", "one"), in(journal.Running, asked("c", "one"))}, "the Action c is running on Box one"},
		"two of which one is over now": {[]*v1alpha1.Action{in(journal.Succeeded, asked("b", "one")), in(journal.Canceled, asked("c", "one"))}, ""},
	} {
		a := asked("a", "one")
		p := newPlace(t, append(c.others, a)...)
		turns := NewRunner(nil, p).turns
		if got := p.told(t, turns, a); !strings.Contains(got, c.waits) || (got == "") != (c.waits == "") {
			t.Errorf("%s: it is told %q, want %q", name, got, c.waits)
		}
	}
}

// An Action that was granted its turn keeps it, even before this is recorded in its journal.
func TestTurnsAloneBeforeAJournal(t *testing.T) {
	t.Parallel()
	a, b := asked("a", "one"), asked("b", "one")
	p := newPlace(t, a, b)
	turns := NewRunner(nil, p).turns
	if got := p.told(t, turns, b); got != "" {
		t.Fatalf("the first is told %q", got)
	}
	if got := p.told(t, turns, a); !strings.Contains(got, "the Action b is running") {
		t.Errorf("the second is told %q", got)
	}
	if err := p.Delete(t.Context(), b.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if got := p.told(t, turns, a); got != "" {
		t.Errorf("when the first is gone, the second is told %q", got)
	}
}

// A list may be older than the end of the other Action. The Action whose end is awaited is watched.
func TestTurnsAloneByAListThatIsBehind(t *testing.T) {
	t.Parallel()
	a := asked("a", "one")
	behind, now := newPlace(t, a, in(journal.Running, asked("b", "one"))), newPlace(t, a, in(journal.Succeeded, asked("b", "one")))
	if got := now.told(t, NewRunner(nil, behind).turns, a); got != "" || !slices.Equal(now.watched, []string{"b"}) {
		t.Errorf("it is told %q, and reads %q", got, now.watched)
	}
}

func TestTurnsShared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mine    *v1alpha1.Action
		others  []*v1alpha1.Action
		waits   string
		patched []string
	}{
		"nobody else":                           {asked("b", "one"), nil, "", []string{"b"}},
		"it has said so":                        {wants(asked("b", "one")), nil, "", nil},
		"one that has begun":                    {asked("b", "one"), []*v1alpha1.Action{in(journal.Running, asked("c", "one"))}, "the Action c is running on Box one", nil},
		"one that wants to, and came later":     {asked("b", "one"), []*v1alpha1.Action{wants(asked("c", "one"))}, "the Action c is running on Box one", nil},
		"both want to, and the other was later": {wants(asked("b", "one")), []*v1alpha1.Action{wants(asked("c", "one"))}, "the Action c is running on Box one", nil},
		"both want to, and it came later":       {wants(asked("b", "one")), []*v1alpha1.Action{wants(asked("a", "one"))}, "the Action a is running on Box one", []string{"b"}},
		"one that is over":                      {asked("b", "one"), []*v1alpha1.Action{in(journal.Succeeded, wants(asked("a", "one")))}, "", []string{"b"}},
		"one that is over, and newer":           {asked("c", "one"), []*v1alpha1.Action{stored(newerDone, wants(asked("b", "one")))}, "", []string{"c"}},
		"one that cannot be read":               {asked("c", "one"), []*v1alpha1.Action{stored(newerRunning, asked("b", "one"))}, newerWaits, nil},
		"one that wants another":                {asked("b", "one"), []*v1alpha1.Action{wants(asked("a", "two"))}, "", []string{"b"}},
		"one whose word is of an older one":     {asked("b", "one"), []*v1alpha1.Action{reborn(wants(asked("a", "one")))}, "", []string{"b"}},
		"of two the one that has begun":         {asked("b", "one"), []*v1alpha1.Action{wants(asked("a", "one")), in(journal.Running, asked("c", "one"))}, "the Action c is running on Box one", nil},
	} {
		p := newPlace(t, append(c.others, c.mine)...)
		got := p.told(t, NewSharedRunner(nil, p).turns, c.mine)
		if !strings.Contains(got, c.waits) || (got == "") != (c.waits == "") || !slices.Equal(p.patched, c.patched) {
			t.Errorf("%s: it is told %q, want %q; written are %q, want %q", name, got, c.waits, p.patched, c.patched)
		}
		if len(p.watched) == 0 != (c.waits == "") { // nothing else would trigger it again
			t.Errorf("%s: it waits for %q, and watches %q", name, c.waits, p.watched)
		}
	}
}

// reborn returns an Action that was deleted and recreated with its annotation.
func reborn(a *v1alpha1.Action) *v1alpha1.Action {
	a.UID += "-again"
	return a
}

// If two Actions announce themselves at the same time, both check afterwards, and the younger one gives way.
func TestTurnsSharedAtOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "b"} {
		a, b := asked("a", "one"), asked("b", "one")
		p := newPlace(t, a, b)
		mine, other := a, b
		if name == "b" {
			mine, other = b, a
		}
		turns := &shared{p}
		p.meanwhile = func() {
			if err := turns.want(t.Context(), other, true); err != nil {
				t.Error(err)
			}
		}
		if got := p.told(t, turns, mine); got == "" {
			t.Errorf("%s takes its turn, though the other one wants it, too", name)
		}
		left := &v1alpha1.Action{}
		if err := p.Get(t.Context(), client.ObjectKeyFromObject(mine), left); err != nil {
			t.Fatal(err)
		}
		if gaveWay := !wanted(left); gaveWay != (name == "b") {
			t.Errorf("%s gave way: %v", name, gaveWay)
		}
	}
}

// An Action that cannot begin lets others begin.
func TestTurnsThatAreLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mine    *v1alpha1.Action
		patched int
	}{{asked("a", "one"), 0}, {wants(asked("a", "one")), 1}} {
		p := newPlace(t, c.mine, asked("b", "one"))
		turns := NewSharedRunner(nil, p).turns
		if err := turns.leave(t.Context(), c.mine); err != nil || len(p.patched) != c.patched {
			t.Errorf("written are %q, %v", p.patched, err)
		}
		if got := p.told(t, turns, asked("b", "one")); got != "" {
			t.Errorf("the next one is told %q", got)
		}
	}
}

// An Action waits for artifacts of an Action whose journal cannot be read.
func TestArtifactsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	a := asked("a", "one")
	a.Spec.ArtifactsFrom = "b"
	p := newPlace(t, a, stored(newerDone, asked("b", "one")))
	run := durable.New(durable.Config{Object: string(a.UID), Reader: reader{p}})
	err := NewRunner(nil, p).take(t.Context(), a, run, &order{})
	if want := "the Action b, whose artifacts it needs, cannot be read: its journal is of version 2"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("it is told %v, want %s", err, want)
	}
}

// A process executes one Action at a time on a target, even if a deleted one is in no list.
func TestRunning(t *testing.T) {
	t.Parallel()
	var all running
	begin := func(a *v1alpha1.Action) string {
		if err := all.begin(a, durable.New(durable.Config{})); err != nil {
			return err.Error()
		}
		return ""
	}
	a, b, elsewhere := asked("a", "one"), asked("b", "one"), asked("c", "two")
	for _, c := range []struct {
		what func() string
		want string
	}{
		{func() string { return begin(a) }, ""},
		{func() string { return begin(a) }, ""},
		{func() string { return begin(elsewhere) }, ""},
		{func() string { return begin(b) }, "a deleted Action is still running on Box one"},
		{func() string { all.end(b); return begin(b) }, "a deleted Action is still running on Box one"},
		{func() string { all.end(a); return begin(b) }, ""},
	} {
		if got := c.what(); got != c.want {
			t.Errorf("it is told %q, want %q", got, c.want)
		}
	}
}

// Actions on the kinds of other operators are ignored.
func TestServes(t *testing.T) {
	t.Parallel()
	r := NewRunner(map[schema.GroupKind]Offer{{Group: "example.com", Kind: "Box"}: {}}, nil)
	for _, target := range []v1alpha1.Target{{APIGroup: "example.com", Kind: "Box"}, {APIGroup: "elsewhere.dev", Kind: "Box"}, {APIGroup: "example.com", Kind: "Crate"}} {
		spec := v1alpha1.ActionSpec{Target: target}
		ours := fmt.Sprint(target.APIGroup, target.Kind) == "example.comBox"
		for _, o := range []client.Object{&v1alpha1.Action{Spec: spec}, &v1alpha1.ActionSchedule{Spec: v1alpha1.ActionScheduleSpec{Template: spec}}} {
			if got := r.Serves(o); got != ours {
				t.Errorf("%T on %s of %s is served: %v", o, target.Kind, target.APIGroup, got)
			}
		}
	}
}
