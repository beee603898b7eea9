package operon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/queue"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
	"github.com/operon-framework/operon/internal/runtime/watches"
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

var errUnversioned = errors.New("its composer upgrades objects, and the operator names no version: give it operon.Version")

// workQueue is the work queue of a controller.
type workQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Manage lets the operator manage the objects of the kind that composer composes. Further
// roles that composer has, such as Observer, are found by their methods.
func Manage[T client.Object](composer Composer[T], options ...ManageOption) Part {
	settings := manageSettings{concurrency: concurrency, rate: queue.DefaultRate, only: predicate.Funcs{}}
	for _, option := range options {
		option(&settings)
	}
	return func(p *parts) {
		if _, acts := any(composer).(Actor[T]); acts {
			p.schemes = append(p.schemes, v1alpha1.AddToScheme)
		}
		p.setups = append(p.setups, func(_ context.Context, o *operator) error {
			if err := manage(o, composer, settings); err != nil {
				return fmt.Errorf("manage %s: %w", reflect.TypeFor[T](), err)
			}
			return nil
		})
	}
}

func manage[T client.Object](o *operator, composer Composer[T], settings manageSettings) error {
	if err := settings.validate(); err != nil {
		return err
	}
	if !o.claim(reflect.TypeFor[T]()) {
		return errors.New("the operator manages it twice: each kind has one composer, which declares all of its children")
	}
	if _, upgrades := any(composer).(Upgrader[T]); upgrades && o.version == "" {
		return errUnversioned
	}
	var work atomic.Pointer[workQueue]
	var r *reconcile.Reconciler[T]
	waiting := &watches.Queue{Changed: func(key types.NamespacedName, why trigger.Cause) {
		r.Trigger(key, why)
		if q := work.Load(); q != nil {
			(*q).Add(reconcile.Request{NamespacedName: key})
		}
	}}
	r, err := reconcile.New(reconcile.Config[T]{
		Composer: composer,
		Manager:  o.name,
		Version:  o.version,
		API: reconcile.API{
			Client: o.manager.GetClient(), Direct: o.direct, REST: o.manager.GetConfig(), Endpoints: o.wire, Writes: o.writes,
		},
		Telemetry: reconcile.Telemetry{Tracer: o.tracer, History: o.history, Watches: o.tracker.Watches},
		Reads:     func(reader types.NamespacedName) author.Reads { return o.read(waiting, reader) },
		Mine:      o.mine(),
		Record:    o.record,
		ApplySets: settings.applySets,
		Rate:      settings.rate,
		Timeout:   settings.timeout,
		DryRun:    o.dryRun,
		Clock:     o.clock,
		Events:    o.manager.GetEventRecorder(o.name),
	})
	if err != nil {
		return err
	}
	object, ok := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if !ok {
		return fmt.Errorf("%s cannot be made", reflect.TypeFor[T]())
	}
	kind, err := apiutil.GVKForObject(object, o.manager.GetScheme())
	if err != nil {
		return err
	}
	if err := addRoles(o, composer, settings, kind); err != nil {
		return err
	}
	o.cached[kind.GroupKind()] = true // whoever manages a kind has named it
	if err := o.offer(kind.GroupKind(), offerOf(composer)); err != nil {
		return err
	}
	if err := o.migrate(reflect.TypeFor[T](), kind, settings.migrate); err != nil {
		return err
	}
	takeQueue := source.Func(func(_ context.Context, q workQueue) error {
		work.Store(&q)
		return nil
	})
	return ctrl.NewControllerManagedBy(o.manager).
		Named(strings.ToLower(kind.Kind)).
		Watches(object, r.Handler(), builder.WithPredicates(settings.only)).
		WatchesRawSource(takeQueue).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: settings.concurrency,
			LogConstructor:          o.logOf(r.Kind()),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
			SkipNameValidation:      new(true), // one process may run several operators, as tests do
			NeedLeaderElection:      o.needsLeader(),
		}).
		Complete(o.sharing(kind.GroupKind(), object, o.manager.GetClient(), r))
}
