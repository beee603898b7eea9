package operontest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/condition"
	"github.com/operon-framework/operon/reconcile"
)

// site is a real cluster with an operator and one object.
type site[T client.Object] struct {
	place    Place
	object   T // as it was given
	patience time.Duration
	requests *requests
	run      func(ctx context.Context, ready func()) error
	stop     func()     // of the operator that runs
	ended    chan error // gets what it ended with
	known    []string   // events that were expected so far

	mu     sync.Mutex
	states []T       // of the object in this step, the latest last
	uid    types.UID // of the object
}

func (o *Operator[T]) newSite(t testing.TB, cluster *rest.Config, namespace string, c Case[T]) (*site[T], error) {
	scheme, err := o.scheme()
	if err != nil {
		return nil, err
	}
	api, err := client.NewWithWatch(cluster, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	s := &site[T]{patience: o.patience, place: Place{Client: api, Namespace: namespace, real: true}}
	if s.object, err = placed(s.place, c.Object); err != nil {
		return nil, err
	}
	s.requests = &requests{mapper: api.RESTMapper(), writes: &journal{namespace: s.object.GetNamespace()}, read: sets.New[string]()}
	for _, given := range c.Given {
		if err := Create(given)(t.Context(), s.place); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() { s.leave(ctx, t, c.Given); stop() })
	if err := s.follow(ctx, api); err != nil {
		return nil, err
	}
	recorded := rest.CopyConfig(cluster)
	recorded.Wrap(s.requests.wrap)
	s.run = func(ctx context.Context, ready func()) error {
		return operon.Run(ctx, Manager, recorded, operon.Config{Namespace: namespace, Ready: ready}, o.parts()...)
	}
	s.place.restart = func(context.Context) error {
		return errors.Join(s.end(), s.start(ctx))
	}
	return s, s.start(ctx)
}

// start starts the operator, and returns when it works.
func (s *site[T]) start(life context.Context) error {
	ctx, stop := context.WithCancel(life)
	s.stop, s.ended = stop, make(chan error, 1)
	ready := make(chan struct{})
	go func() { s.ended <- s.run(ctx, func() { close(ready) }) }()
	select {
	case <-ready:
		return nil
	case err := <-s.ended:
		s.ended <- err
		return fmt.Errorf("the operator does not start: %w", err)
	}
}

// end ends the operator.
func (s *site[T]) end() error {
	s.stop()
	return <-s.ended
}

// parts are what an operator's main function gives to operon.Main.
func (o *Operator[T]) parts() []operon.Part {
	parts := []operon.Part{operon.Manage(o.composer)}
	for _, add := range o.api {
		parts = append(parts, operon.API(add))
	}
	return parts
}

// follow notes each state of the object.
func (s *site[T]) follow(ctx context.Context, api client.WithWatch) error {
	kind, err := api.GroupVersionKindFor(s.object)
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	one := client.MatchingFields{"metadata.name": s.object.GetName()}
	changes, err := api.Watch(ctx, list, client.InNamespace(s.object.GetNamespace()), one)
	if err != nil {
		return fmt.Errorf("watch the object: %w", err)
	}
	go func() {
		defer changes.Stop()
		for change := range changes.ResultChan() {
			if changed, ok := change.Object.(*unstructured.Unstructured); ok && change.Type != watch.Deleted {
				s.saw(changed)
			}
		}
	}()
	return nil
}

func (s *site[T]) saw(changed *unstructured.Unstructured) {
	state, ok := s.object.DeepCopyObject().(T)
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(changed.Object, state) != nil {
		return // a state that the Go type cannot hold is none that anybody expects
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states, s.uid = append(s.states, state), state.GetUID()
}

// leave removes the objects while there is an operator to lift finalizers, and then stops it.
func (s *site[T]) leave(ctx context.Context, t testing.TB, given []client.Object) {
	t.Helper()
	if s.stop == nil {
		return // it was never started
	}
	for _, object := range append([]client.Object{s.object}, given...) {
		if err := Delete(object)(ctx, s.place); client.IgnoreNotFound(err) != nil {
			t.Errorf("clean up: %v", err)
		}
	}
	err := wait.PollUntilContextTimeout(ctx, interval, s.patience, true, func(ctx context.Context) (bool, error) {
		gone, err := s.gone(ctx)
		return gone || len(s.ended) > 0, err
	})
	if err != nil {
		t.Errorf("the object does not go: %v", err)
	}
	if err := s.end(); err != nil {
		t.Errorf("the operator ended with: %v", err)
	}
}

func (s *site[T]) gone(ctx context.Context) (bool, error) {
	found, err := placed(s.place, s.object)
	if err != nil {
		return false, err
	}
	err = s.place.Get(ctx, client.ObjectKeyFromObject(s.object), found)
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

// play lets a step happen and waits until what it expects has come, and for a while nothing
// else. The error says what did not come, or what came that was not expected.
func (s *site[T]) play(ctx context.Context, step Step[T]) error {
	s.begin()
	for _, change := range step.Do {
		if err := change(ctx, s.place); err != nil {
			return err
		}
	}
	s.known = append(s.known, step.Expect.Events...)
	var last verdict
	var written []string
	still := time.Now()
	err := wait.PollUntilContextTimeout(ctx, interval, s.patience+step.Wait, true, func(ctx context.Context) (bool, error) {
		if more := s.requests.writes.take(); len(more) > 0 {
			written, still = append(written, more...), time.Now()
		}
		if len(s.ended) > 0 {
			return false, errors.New("the operator has ended")
		}
		found, err := s.judge(ctx, step.Expect, written)
		if err != nil {
			return false, err
		}
		last = found
		return len(found.unexpected) > 0 || len(found.missing) == 0 && time.Since(still) > quiet, nil
	})
	if wrong := last.all(); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return err
}

// begin begins a step with the state that the object has.
func (s *site[T]) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = s.states[max(0, len(s.states)-1):]
}

// judge says what is not as expected, so far.
func (s *site[T]) judge(ctx context.Context, e Expect[T], written []string) (verdict, error) {
	events, err := s.events(ctx)
	if err != nil {
		return verdict{}, err
	}
	gone, err := s.gone(ctx)
	if err != nil {
		return verdict{}, err
	}
	s.mu.Lock()
	states := slices.Clone(s.states)
	s.mu.Unlock()
	if gone {
		states = nil
		// A child that garbage collection takes before the operator knows that its owner
		// is gone is made again, and taken again.
		written = slices.DeleteFunc(slices.Clone(written), func(write string) bool { return strings.HasPrefix(write, "create ") })
	}
	return compareSets("write", distinct(e.Writes), distinct(written), same).
		and(s.judgeEvents(e, events)).
		and(verdict{missing: e.judgeObject(states)}), nil
}

// judgeEvents looks for those of this step among all, as the API server adds what happens
// again to the event that was there.
func (s *site[T]) judgeEvents(e Expect[T], events []string) verdict {
	var v verdict
	for _, want := range e.Events {
		if !slices.ContainsFunc(events, func(got string) bool { return matchesEvent(want, got) }) {
			v.missing = append(v.missing, fmt.Sprintf("missing event %q", want))
		}
	}
	for _, got := range events {
		expected := slices.ContainsFunc(s.known, func(want string) bool { return matchesEvent(want, got) })
		if !expected && !ofReadiness(got) {
			v.unexpected = append(v.unexpected, fmt.Sprintf("event that was not expected: %q", got))
		}
	}
	return v
}

// distinct are writes without those of a status, each once.
func distinct(writes []string) []string {
	all := sets.New(slices.DeleteFunc(slices.Clone(writes), func(write string) bool { return strings.HasPrefix(write, "status ") })...)
	return sets.List(all)
}

// ofReadiness tells events that depend on whether children are ready, which on a real
// cluster they become by themselves.
func ofReadiness(event string) bool {
	reason, _, _ := strings.Cut(event, ": ")
	switch reason {
	case condition.ReasonReady, reconcile.ReasonChildNotReady, reconcile.ReasonChildFailed,
		reconcile.ReasonWaiting, reconcile.ReasonChildDeleting, reconcile.ReasonDeleting:
		return true
	}
	return false
}

// events are all that the operator sent about the object.
func (s *site[T]) events(ctx context.Context) ([]string, error) {
	var list eventsv1.EventList
	if err := s.place.List(ctx, &list, client.InNamespace(s.place.Namespace)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var notes []string
	for _, e := range list.Items {
		if e.Regarding.UID == s.uid && e.ReportingController == Manager {
			notes = append(notes, e.Reason+": "+e.Note)
		}
	}
	return notes, nil
}

// furtherKinds are those that were read and are neither the object's nor those of children.
func (s *site[T]) furtherKinds(c Case[T]) (want, got []string) {
	known := sets.New[string]()
	if kind, err := s.place.GroupVersionKindFor(s.object); err == nil {
		known.Insert(kind.Kind)
	}
	for _, step := range c.steps() {
		for _, write := range step.Expect.Writes {
			known.Insert(strings.Fields(write)[1])
		}
	}
	wanted := sets.New[string]()
	for _, read := range c.Reads {
		wanted.Insert(strings.Fields(read)[0])
	}
	return sets.List(wanted.Difference(known)), sets.List(s.requests.kinds().Difference(known))
}
