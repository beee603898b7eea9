package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/dueling"
	"github.com/operon-framework/operon/internal/runtime/providers"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/runtime/telemetry"
)

// Request and Result are controller-runtime's.
type (
	Request = reconcile.Request
	Result  = reconcile.Result
)

// Composer declares the children of an object.
type Composer[T client.Object] interface {
	// Compose adds to out each child that should exist for object. It is called for each
	// reconcile and must not write anything itself: what it does not add any more is removed.
	// An error ends the reconcile; nothing is applied or removed then.
	Compose(ctx context.Context, object T, out *Composition) error
}

// Observer fills an object's status from what there is. A composer may be one.
type Observer[T client.Object] interface {
	// Observe sets fields of object's status. Conditions and observedGeneration are
	// Operon's. It runs after the children were applied, ready or not.
	Observe(ctx context.Context, object T, seen *Observed) error
}

// Defaulter fills in defaults. A composer may be one.
type Defaulter[T client.Object] interface {
	// Default sets fields of object that its author left out. It must have no effects, and do nothing
	// to an object that has its defaults already. It is called before objects are stored, where
	// API servers can ask the operator, and before each reconcile: objects
	// that were stored without are composed with their defaults, too.
	Default(ctx context.Context, object T) error
}

// Config of a reconciler.
type Config[T client.Object] struct {
	// Composer is the author's; it may have further roles, such as Observer.
	Composer Composer[T]
	// Manager is the operator's name: field manager, and value of the managed-by label.
	Manager string
	// Version is the operator's. Empty: it names none, and nothing is recorded or upgraded.
	Version string
	// Client reads objects of T from the manager's cache and writes.
	Client client.Client
	// Direct reads and writes without a cache.
	Direct client.WithWatch
	// REST is the connection of Direct, for what takes streams. It may be nil.
	REST *rest.Config
	// Endpoints reach the children.
	Endpoints apply.Endpoints
	// Memory of writes to children is the operator's, shared by its kinds.
	Memory *apply.Memory
	// Record is the operator's, shared by its kinds.
	Record *Record
	// ApplySets lets every object carry what makes it the parent of an ApplySet, at one write
	// more for each. Objects with the finalizer carry it anyway.
	ApplySets bool
	// Events records events.
	Events events.EventRecorder
	// Rate bounds how often one object is reconciled. Zero: DefaultRate.
	Rate Rate
	// DryRun, where it is set, is shown what would be done, and nothing is. It is called again
	// for an object only when that changes.
	DryRun func(Preview)
	// Timeout is how long a reconcile may take. Zero: as long as it likes.
	Timeout time.Duration
	// Reads begins the reading of a reconcile.
	Reads func(reader types.NamespacedName) Reads
	// Watches counts the watches of what is read. Nil: there are none.
	Watches func() int
	// Clock tells the time. Nil: the real one.
	Clock clock.PassiveClock
	// Mine tells whether work that began under a context may go on with an object: where several
	// processes share objects, one of its name may be another one by now. Nil: they do not.
	Mine func(ctx context.Context, object types.UID) bool
	// Tracer makes spans of reconciles. Nil: none.
	Tracer *telemetry.Tracer
	// History keeps the last reconciles. Nil: they are forgotten.
	History *reconcilelog.Store
}

// Reconciler reconciles the objects of one kind.
type Reconciler[T client.Object] struct {
	Config[T]
	kind    schema.GroupVersionKind
	applier *apply.Applier
	family  apply.Family
	own     own
	working working
	pending pending
	buckets *buckets
	ledger  *dueling.Ledger
	// keeper keeps what is outside of the cluster.
	keeper *providers.Keeper
	// previews are those of a dry run.
	previews previews
	causes   causes
	// readyStates are what was told.
	readyStates readyStates
	// unreadable are kinds that an earlier version composed and this one may not read.
	unreadable sync.Map
	// whole are the kinds of children of which somebody reads more than plans need.
	whole sync.Map
}

// New returns a reconciler. A type that lacks the status fields which Operon writes is an
// error.
func New[T client.Object](cfg Config[T]) (*Reconciler[T], error) {
	cfg.Rate = cmp.Or(cfg.Rate, DefaultRate)
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	r := &Reconciler[T]{Config: cfg, buckets: newBuckets(cfg.Rate, cfg.Clock), ledger: dueling.New(), keeper: providers.NewKeeper(cfg.Clock, countCall)}
	r.applier = apply.New(apply.Config{
		Client: cfg.Direct, Endpoints: cfg.Endpoints, Manager: cfg.Manager, Memory: cfg.Memory, Children: r.children, Fenced: cfg.Mine != nil,
	})
	object, err := r.newObject()
	if err != nil {
		return nil, err
	}
	if r.kind, err = apiutil.GVKForObject(object, cfg.Client.Scheme()); err != nil {
		return nil, fmt.Errorf("%w; register its API with operon.API", err)
	}
	r.readyStates.kind = r.kind.Kind
	r.History.Manages(r.kind)
	if _, err := condition.Of(object); err != nil {
		return nil, err
	}
	if err := checkWorker(cfg.Composer, object); err != nil {
		return nil, err
	}
	return r, nil
}

// firstLook is how soon an object is looked at again that somebody wrote while it was reconciled.
const firstLook = 20 * time.Millisecond

// Kind is the kind of the objects, without its group.
func (r *Reconciler[T]) Kind() string { return r.kind.Kind }

// timed runs a step: it measures it, names it in errors, and turns a panic of the author's
// code into an error.
func (r *Reconciler[T]) timed(ctx context.Context, s step[T], p *pass[T]) (o outcome.Outcome) {
	started := time.Now()
	ctx, span := r.Tracer.Step(ctx, s.name)
	var err error
	defer func() {
		r.stepped(p, s.name, time.Since(started), o)
		span.End(o.Kind().String(), o.Reason(), err)
	}()
	if o, err = r.inTime(ctx, s, p); err == nil {
		return o
	}
	if p.interrupted() {
		return outcome.Done()
	}
	if r.Mine != nil && apierrors.IsConflict(err) {
		p.over = true // somebody wrote meanwhile, which the cache is about to show
		return outcome.Retry(firstLook, "", "")
	}
	p.errored(ctx, s.name, err)
	return explain(err)
}

// children tells how children of a kind are kept.
func (r *Reconciler[T]) children(kind schema.GroupVersionKind) resourceclient.Children {
	_, whole := r.whole.Load(kind)
	return resourceclient.Children{Kind: kind, Whole: whole}
}
