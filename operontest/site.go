package operontest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

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
)

// site is a real cluster with an operator and one object.
type site[T client.Object] struct {
	place    Place
	object   T // as it was given
	patience time.Duration
	requests *requests
	run      func(ctx context.Context, ready func()) error
	stop     func()     // of the running operator
	ended    chan error // receives the result of the operator
	known    []string   // expected events so far

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

// start starts the operator, and returns when it is running.
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
	case <-time.After(timing.starting):
		return fmt.Errorf("the operator does not work after %s", timing.starting)
	}
}

// end stops the operator.
func (s *site[T]) end() error {
	s.stop()
	return <-s.ended
}

// parts returns the options that an operator's main function passes to operon.Main.
func (o *Operator[T]) parts() []operon.Option {
	parts := []operon.Option{operon.Manage(o.composer, o.options()...)}
	for _, add := range o.api {
		parts = append(parts, operon.API(add))
	}
	return parts
}

// follow records each state of the object.
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
		return // no case expects a state that the Go type cannot represent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states, s.uid = append(s.states, state), state.GetUID()
}

// leave removes the objects while an operator runs that can remove finalizers, and then stops it.
func (s *site[T]) leave(ctx context.Context, t testing.TB, given []client.Object) {
	t.Helper()
	if s.stop == nil {
		return // it was never started
	}
	remove := func(objects ...client.Object) {
		for _, object := range objects {
			if err := Delete(object)(ctx, s.place); client.IgnoreNotFound(err) != nil {
				t.Errorf("clean up: %v", err)
			}
		}
	}
	defer remove(given...) // the finalization of the object may need them
	remove(s.object)
	err := wait.PollUntilContextTimeout(ctx, timing.interval, s.patience, true, func(ctx context.Context) (bool, error) {
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
