package operon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/migrate"
	"github.com/operon-framework/operon/internal/runtime/queue"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// concurrency is the default number of objects of a kind that are reconciled at the same time. Reconciles mostly wait
// for the API server; eight of them keep it busy from one process.
const concurrency = 8

// An error is retried after firstRetry, and then with growing delays up to lastRetry. A permission that a user grants
// in the meantime causes no event.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = 30 * time.Second
)

var errUnversioned = errors.New("its composer upgrades objects, and the operator names no version: give it operon.Version")

// workQueue is the work queue of a controller.
type workQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Manage adds a composer: the operator manages the objects of the composer's kind. Further interfaces that the
// composer implements, such as Observer, are detected by their methods.
func Manage[T client.Object](composer Composer[T], options ...ManageOption) Option {
	settings := settingsOf(options)
	return func(p *parts) {
		p.roles = append(p.roles, rolesOf(composer))
		if _, acts := any(composer).(ActionHandler[T]); acts {
			p.schemes = append(p.schemes, v1alpha1.AddToScheme)
		}
		p.setups = append(p.setups, func(_ context.Context, o *operator) error {
			if err := manageComposer(o, composer, settings); err != nil {
				return fmt.Errorf("manage %s: %w", reflect.TypeFor[T](), err)
			}
			return nil
		})
	}
}

// manageComposer manages the objects of the kind that composer composes, and serves its admission webhooks and actions.
func manageComposer[T client.Object](o *operator, composer Composer[T], settings manageSettings) error {
	if err := checkMethods(composer); err != nil {
		return err
	}
	if err := manage(o, rolesOf(composer), settings); err != nil {
		return err
	}
	_, kind, err := objectOf[T](o, settings)
	if err != nil {
		return err
	}
	if err := addAdmission(o, composer, settings, kind); err != nil {
		return err
	}
	return o.offer(kind.GroupKind(), offerOf(composer))
}

// settingsOf returns the settings that options specify.
func settingsOf(options []ManageOption) manageSettings {
	settings := manageSettings{concurrency: concurrency, rate: queue.DefaultRate}
	for _, option := range options {
		option(&settings)
	}
	return settings
}

func init() {
	author.RolesIn = func(option any) []any {
		var p parts
		option.(Option)(&p)
		return p.roles
	}
}

// objectOf returns an empty object of the managed kind, and the kind: the one in the options, or else the kind of T.
func objectOf[T client.Object](o *operator, settings manageSettings) (object T, kind schema.GroupVersionKind, err error) {
	if object, err = reconcile.NewObject[T](settings.kind); err != nil {
		return object, kind, err
	}
	if kind, err = apiutil.GVKForObject(object, o.manager.GetScheme()); err != nil {
		err = fmt.Errorf("%w; register its API with operon.API", err)
	}
	return object, kind, err
}

func manage[T client.Object](o *operator, roles author.Roles[T], settings manageSettings) error {
	if err := settings.validate(); err != nil {
		return err
	}
	object, kind, err := objectOf[T](o, settings)
	if err != nil {
		return err
	}
	if !o.claim(kind.GroupKind()) {
		return errors.New("the operator manages it twice: each kind has one composer, which declares all of its children")
	}
	if roles.Upgrade != nil && o.version == "" {
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
	r, err = reconcile.New(reconcile.Config[T]{
		Roles:   roles,
		Manager: o.name,
		Version: o.version,
		API: reconcile.API{
			Client: o.manager.GetClient(), Direct: o.direct, REST: o.manager.GetConfig(), Endpoints: o.wire, Writes: o.writes,
			Namespaces: o.tracker.Namespaces, Served: o.wire.Served,
		},
		Telemetry: reconcile.Telemetry{Tracer: o.tracer, History: o.history, Watches: o.tracker.Watches},
		Reads:     func(reader types.NamespacedName) author.Reads { return o.read(waiting, reader) },
		Mine:      o.mine(),
		Record:    o.record,
		Managed: reconcile.Managed{
			Kind: kind, Selected: settings.only, Retired: settings.retired, ApplySets: settings.applySets, WithoutStatus: settings.withoutStatus,
		},
		Rate:    settings.rate,
		Timeout: settings.timeout,
		DryRun:  o.dryRun,
		Clock:   o.clock,
		Events:  o.events,
	})
	if err != nil {
		return err
	}
	o.cached[kind.GroupKind()] = true // the operator's code names each kind that it manages
	if err := o.migrate(reflect.TypeFor[T](), kind, settings.migrate); err != nil {
		return err
	}
	takeQueue := source.Func(func(_ context.Context, q workQueue) error {
		work.Store(&q)
		return nil
	})
	for _, names := range settings.triggers {
		if err := o.manager.Add(&forwarder{names, waiting.Changed, o.needsLeader()}); err != nil {
			return err
		}
	}
	return ctrl.NewControllerManagedBy(o.manager).
		Named(strings.ToLower(kind.Kind)).
		Watches(object, r.Handler(), builder.WithPredicates(selects(settings.only))).
		WatchesRawSource(takeQueue).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: settings.concurrency,
			LogConstructor:          o.logOf(r.KindName()),
			RateLimiter:             queue.NewBackoff[reconcile.Request](firstRetry, lastRetry, clock.RealClock{}),
			NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
				return queue.NewFair(name, limiter, o.log.WithValues("controller", name), settings.concurrency)
			},
			SkipNameValidation: new(true), // a process may run several operators, for example in tests
			NeedLeaderElection: o.needsLeader(),
		}).
		Complete(o.sharing(kind.GroupKind(), object, o.manager.GetClient(), r))
}

// forwarder triggers reconciles of objects whose names the author's program sends.
type forwarder struct {
	names       <-chan types.NamespacedName
	changed     func(types.NamespacedName, trigger.Cause)
	needsLeader *bool
}

// Start implements manager.Runnable.
func (f *forwarder) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case name, open := <-f.names:
			if !open {
				return nil
			}
			f.changed(name, trigger.Cause{Kind: trigger.External})
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (f *forwarder) NeedLeaderElection() bool { return f.needsLeader == nil || *f.needsLeader }

// migrate adds the storage migration of a kind to the manager if it is requested. A dry run migrates nothing.
func (o *operator) migrate(of reflect.Type, kind schema.GroupVersionKind, wanted bool) error {
	if !wanted || o.dryRun != nil {
		return nil
	}
	converts, err := converts(o.manager.GetScheme(), of, kind)
	if err != nil {
		return err
	}
	m := migrate.New(&migrate.Cluster{
		Client: o.direct, Kind: kind, Manager: o.name, Marks: types.NamespacedName{Namespace: o.home, Name: o.name + "-migrations"},
	})
	m.Log, m.Converts = o.log, converts
	return o.manager.Add(m)
}
