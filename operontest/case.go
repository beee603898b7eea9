package operontest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Case is what there is, what happens, and what is expected of the operator then.
//
// Objects are copied before they are used. Those whose kind is in a namespace and that name
// none are put in [Namespace], or in the test's own on a real cluster.
type Case[T client.Object] struct {
	// Name is that of the subtest.
	Name string
	// Given are the objects that exist before, with their status.
	Given []client.Object
	// Clusters are those that the operator reads besides its own, by the names that
	// operon.Cluster gives them, and the objects that exist there. They are in memory only.
	Clusters map[string][]client.Object
	// Object is the one that is created and reconciled.
	Object T
	// Reads are what the composer reads besides its own children: "Pod", or all that there is
	// to say of it: "Pod app=web", "Secret key", "Secret key in other", "Node a", "Pod app=web
	// in all namespaces", "Secret key in cluster east". Reading anything else fails the case,
	// and so does reading nothing of one of them.
	Reads []string
	// Expect is what comes of the creation.
	Expect Expect[T]
	// Then are further steps, one after the other.
	Then []Step[T]
}

// Step is something that happens and what is expected then.
type Step[T client.Object] struct {
	// Name is told when the step fails.
	Name string
	// Do happens first.
	Do []Change
	// Wait is time that passes then. Offline no real time does.
	Wait time.Duration
	// Expect is what comes of it.
	Expect Expect[T]
}

// Expect is what is expected of the operator in a step, which ends when nothing is left to
// do but to wait. What is not expected fails the case. The zero value expects that nothing
// is written and no event is sent.
type Expect[T client.Object] struct {
	// Writes are all requests that change something, in their order: "create", "change" or
	// "delete" with kind and name, "status" with those of the object. Names in other
	// namespaces than the object's are namespace/name.
	Writes []string
	// Events are all events, in any order: a reason, or "Reason: text" where text is a part
	// of the note.
	Events []string
	// Conditions that the object has: "Ready=True" or "Ready=False Reason", and then a part
	// of the message after a colon, if it matters. Others may be there as well.
	Conditions []string
	// Status tells what is wrong with the object, its status above all. It may be nil.
	Status func(T) error
}

// Run runs cases without a cluster, each as a parallel subtest, as RunOne does.
func (o *Operator[T]) Run(t *testing.T, cases ...Case[T]) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			o.RunOne(t, c)
		})
	}
}

// RunOne runs a case without a cluster: the real steps of a reconcile on an API in memory.
// The object is reconciled when it, a child, or something else that was read changes, and
// when a reconcile wants to be repeated after a while and that time has passed. An operator
// that does not come to rest fails the case.
func (o *Operator[T]) RunOne(t testing.TB, c Case[T]) {
	t.Helper()
	log := funcr.New(func(_, line string) { t.Log(line) }, funcr.Options{})
	w, err := o.newWorld(t.Context(), log, c)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range c.steps() {
		err := w.play(t.Context(), step)
		if err != nil {
			t.Fatalf("%s: %v", step.title(i), err)
		}
		seen, err := w.take(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", step.title(i), err)
		}
		for _, wrong := range step.Expect.judge(seen) {
			t.Errorf("%s: %s", step.title(i), wrong)
		}
	}
	for _, wrong := range compareSets("read", c.Reads, append(w.reads.read, w.elsewhere.read()...), matchesRead).all() {
		t.Error(wrong)
	}
}

// steps are the creation of the object and what follows.
func (c Case[T]) steps() []Step[T] {
	first := Step[T]{Name: "the object is created", Do: []Change{Create(c.Object)}, Expect: c.Expect}
	return append([]Step[T]{first}, c.Then...)
}

func (s Step[T]) title(i int) string {
	if s.Name != "" {
		return s.Name
	}
	return fmt.Sprintf("step %d", i)
}

// play lets a step happen, and the operator do what it does about it.
func (w *world[T]) play(ctx context.Context, s Step[T]) error {
	for _, change := range s.Do {
		if err := change(ctx, w.place); err != nil {
			return err
		}
	}
	return w.pass(ctx, s.Wait)
}
