package operon

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operon-framework/operon/reconcile"
)

// concurrency is how many objects of a kind are reconciled at the same time. Reconciles
// wait for the API server most of their time; eight of them keep it busy from one process.
const concurrency = 8

// An error is retried after firstRetry and then ever later, up to lastRetry: a permission
// that somebody grants meanwhile sends no event.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// several operators may run in one process, as tests do, each with a controller of the kind.
var several = true

// queue is the work queue of a controller.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Manage lets the operator manage the objects of the kind that composer composes. Further
// roles that composer has, such as Observer, are found by their methods.
func Manage[T client.Object](composer Composer[T]) Part {
	return func(p *parts) {
		p.setups = append(p.setups, func(ctx context.Context, o *operator) error {
			if err := manage(ctx, o, composer); err != nil {
				return fmt.Errorf("manage %s: %w", reflect.TypeFor[T](), err)
			}
			return nil
		})
	}
}

func manage[T client.Object](ctx context.Context, o *operator, composer Composer[T]) error {
	var work atomic.Pointer[queue]
	r, err := reconcile.New(ctx, reconcile.Config[T]{
		Composer:   composer,
		Manager:    o.name,
		Client:     o.manager.GetClient(),
		Direct:     o.direct,
		REST:       o.manager.GetConfig(),
		Namespaces: o.namespaces,
		Record:     o.record,
		Events:     o.manager.GetEventRecorder(o.name),
		Changed: func(key types.NamespacedName) {
			if q := work.Load(); q != nil {
				(*q).Add(reconcile.Request{NamespacedName: key})
			}
		},
	})
	if err != nil {
		return err
	}
	object, ok := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if !ok {
		return fmt.Errorf("%s cannot be made", reflect.TypeFor[T]())
	}
	takeQueue := source.Func(func(_ context.Context, q queue) error {
		work.Store(&q)
		return nil
	})
	return ctrl.NewControllerManagedBy(o.manager).
		For(object).
		WatchesRawSource(takeQueue).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
			SkipNameValidation:      new(true), // one process may run several operators, as tests do
		}).
		Complete(r)
}
