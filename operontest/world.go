package operontest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
)

// maxPasses is the number of consecutive reconciles after which an object is considered never to become quiescent.
const maxPasses = 50

// epoch is the time at which every case begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is an operator with one object, an API in memory, and its own time.
type world[T client.Object] struct {
	place      Place
	time       *clocktesting.FakePassiveClock
	log        logr.Logger
	reconciler *reconcile.Reconciler[T]
	object     T // as it was given
	reads      *reads
	elsewhere  clusters
	writes     *journal
	events     *diary

	revision string    // of the object when it was last reconciled; empty if it did not exist
	due      time.Time // when it is reconciled again if nothing changes; zero: never
	failures int       // in a row
}

func (o *Operator[T]) newWorld(ctx context.Context, log logr.Logger, c Case[T]) (*world[T], error) {
	clock := clocktesting.NewFakePassiveClock(epoch)
	api, err := o.newAPI(clock)
	if err != nil {
		return nil, err
	}
	w := &world[T]{
		place:  Place{Client: api, Namespace: Namespace},
		time:   clock,
		log:    log,
		writes: &journal{}, events: &diary{},
	}
	if w.object, err = placed(w.place, c.Object); err != nil {
		return nil, err
	}
	w.writes.namespace = w.object.GetNamespace()
	w.reads = newReads(api, w.object.GetNamespace())
	if w.elsewhere, err = o.newClusters(ctx, clock, &w.place, c.Clusters); err != nil {
		return nil, err
	}
	for _, given := range c.Given {
		if err := Create(given)(ctx, w.place); err != nil {
			return nil, err
		}
	}
	recorded := w.writes.through(api)
	w.place.refuse = w.writes.refuse
	w.place.restart = func(context.Context) error {
		w.revision, w.due, w.failures = "", time.Time{}, 0
		w.reconciler, err = o.reconciler(api, reconcile.Config[T]{
			API:   reconcile.API{Client: recorded, Direct: recorded, Endpoints: endpoints{recorded}, Writes: freshness.NewChildren()},
			Reads: w.elsewhere.beside(w.reads), Events: w.events, Clock: clock,
		})
		return err
	}
	return w, w.place.restart(ctx)
}

var _ events.EventRecorder = &diary{}

// pass advances time, and reconciles the object whenever it is due.
func (w *world[T]) pass(ctx context.Context, wait time.Duration) error {
	end := w.time.Now().Add(wait)
	for {
		if err := w.settle(ctx); err != nil {
			return err
		}
		if w.due.IsZero() || w.due.After(end) {
			w.time.SetTime(end)
			return w.again(ctx)
		}
		w.time.SetTime(w.due)
	}
}

// again reconciles a quiescent object once more, which must write nothing.
func (w *world[T]) again(ctx context.Context) error {
	if !w.due.IsZero() || w.revision == "" {
		return nil
	}
	before := len(w.writes.all())
	if err := w.reconcile(ctx); err != nil {
		return err
	}
	if more := w.writes.all()[before:]; len(more) > 0 {
		return fmt.Errorf("reconciled again though nothing has changed, the operator writes\n%s\nDoes Compose declare the same for the same object?", strings.Join(more, "\n"))
	}
	return nil
}

// settle reconciles the object until none of its dependencies changes any more.
func (w *world[T]) settle(ctx context.Context) error {
	for range maxPasses {
		stale, err := w.stale(ctx)
		if err != nil || !stale {
			return err
		}
		if err := w.reconcile(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("the operator does not come to rest: %d reconciles wrote\n%s", maxPasses, strings.Join(w.writes.take(), "\n"))
}

// stale reports whether the object has to be reconciled.
func (w *world[T]) stale(ctx context.Context) (bool, error) {
	if !w.due.IsZero() && !w.due.After(w.time.Now()) {
		return true, nil
	}
	revision, err := w.currentRevision(ctx)
	if err != nil || revision != w.revision {
		return true, err
	}
	if changed, err := w.reads.changed(ctx); changed || err != nil {
		return changed, err
	}
	return w.elsewhere.changed(ctx)
}

// reconcile reconciles the object once, as a work queue does.
func (w *world[T]) reconcile(ctx context.Context) error {
	revision, err := w.currentRevision(ctx)
	if err != nil {
		return err
	}
	w.revision, w.due = revision, time.Time{}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.object)}
	result, failed := w.reconciler.Reconcile(log.IntoContext(ctx, w.log), request)
	if failed != nil {
		w.log.Info("a reconcile failed", "error", failed.Error())
		w.due = w.time.Now().Add(min(timing.lastRetry, timing.firstRetry<<min(w.failures, 20)))
		w.failures++
		return nil
	}
	w.failures = 0
	if result.RequeueAfter > 0 {
		w.due = w.time.Now().Add(result.RequeueAfter)
	}
	return nil
}

// currentRevision returns the revision of the object, or an empty string if it does not exist.
func (w *world[T]) currentRevision(ctx context.Context) (string, error) {
	found, err := w.current(ctx)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return found.GetResourceVersion(), nil
}

func (w *world[T]) current(ctx context.Context) (T, error) {
	found, err := placed(w.place, w.object)
	if err != nil {
		return found, err
	}
	return found, w.place.Get(ctx, client.ObjectKeyFromObject(w.object), found)
}

// take returns what the operator did since the last call, and the current object.
func (w *world[T]) take(ctx context.Context) (seen[T], error) {
	s := seen[T]{writes: w.writes.take(), events: w.events.take()}
	object, err := w.current(ctx)
	if apierrors.IsNotFound(err) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.states = []T{object}
	return s, nil
}
