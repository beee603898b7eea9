package operontest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Case is a test case: the objects that exist, what happens, and what the operator is expected to do.
//
// Objects are copied before they are used. Namespaced objects that do not set a namespace are created in
// Namespace, or on a real cluster in the namespace of the test.
type Case[T client.Object] struct {
	// Name is the name of the subtest.
	Name string
	// Given are the objects that exist beforehand, with their status.
	Given []client.Object
	// Clusters are the other clusters that the operator reads, by the names that operon.Cluster gives them, with
	// the objects that exist there. They are in memory only.
	Clusters map[string][]client.Object
	// Object is the object that is created and reconciled.
	Object T
	// Reads lists the reads of the composer besides its own children, by kind or in full: "Pod", "Pod app=web", "Secret key",
	// "Secret key in other", "Node a", "Pod app=web in all namespaces", "Secret key in cluster east". A read that is not
	// listed fails the case, and so does an entry that is never read.
	Reads []string
	// Expect is what is expected after the object is created.
	Expect Expect[T]
	// Then are further steps, which run in order.
	Then []Step[T]
}

// Step is a set of changes, and what is expected afterwards.
type Step[T client.Object] struct {
	// Name is reported when the step fails.
	Name string
	// Do are the changes that are made first.
	Do []Change
	// Wait is the time that passes after the changes. Without a cluster, no real time passes.
	Wait time.Duration
	// Expect is what is expected afterwards.
	Expect Expect[T]
}

// Expect is what is expected of the operator in a step, which ends when the operator only has to wait. Anything else fails
// the case. The zero value expects no writes and no events.
type Expect[T client.Object] struct {
	// Writes are all requests that change something, in order: "create", "change" or "delete" with the kind and
	// name of the object, and "status", or the name of another subresource, with those of the object whose
	// subresource is written. Names in a namespace other than the object's are written as namespace/name. The name
	// is * if one request deletes several objects.
	Writes []string
	// Events are all events, in any order: a reason, or "Reason: text" where text is part of the note.
	Events []string
	// Conditions are conditions that the object has: "Ready=True" or "Ready=False Reason", optionally followed by
	// a colon and part of the message. The object may have others.
	Conditions []string
	// Status returns an error if something is wrong with the object, in particular with its status. It may be nil.
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

// RunOne runs a case without a cluster: the real steps of a reconcile on an API in memory. The object is
// reconciled when it, a child, or something else that was read changes, and when a requested requeue is due. An
// operator that never stops reconciling fails the case.
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

// steps returns the creation of the object and the further steps.
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

// play executes a step, and lets the operator react to it.
func (w *world[T]) play(ctx context.Context, s Step[T]) error {
	for _, change := range s.Do {
		if err := change(ctx, w.place); err != nil {
			return err
		}
	}
	return w.pass(ctx, s.Wait)
}
