package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/providers"
	"github.com/operon-framework/operon/internal/runtime/queue"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/runtime/report"
	"github.com/operon-framework/operon/internal/runtime/telemetry"
)

// Request and Result are the types of controller-runtime.
type (
	Request = reconcile.Request
	Result  = reconcile.Result
)

// API is the access of a reconciler to the API server.
type API struct {
	// Client reads objects of the managed kind from the manager's cache, and writes.
	Client client.Client
	// Direct reads and writes without a cache.
	Direct client.WithWatch
	// REST is the connection of Direct, for streaming requests. It may be nil.
	REST *rest.Config
	// Endpoints read and write the children.
	Endpoints apply.Endpoints
	// Namespaces are the namespaces to which the operator is limited; empty means all.
	Namespaces []string
	// Served returns the versions in which the API server serves a kind now. Nil means that kinds are never removed.
	Served func(context.Context, schema.GroupKind) ([]schema.GroupVersionKind, error)
	// Writes to children are held in the operator's ledger, shared by its kinds.
	Writes *freshness.Children
}

// Telemetry holds the destinations of a reconciler's reports, besides status, events and metrics.
type Telemetry struct {
	// Tracer creates spans of reconciles. Nil means none.
	Tracer *telemetry.Tracer
	// History stores the last reconciles. Nil means that they are not stored.
	History *reconcilelog.Store
	// Watches returns the number of watches for reads. Nil means that there are none.
	Watches func() int
}

// Managed is how the objects of the kind themselves are managed.
type Managed struct {
	// Kind is the kind of the objects. It is empty if T is the Go type of one kind only.
	Kind schema.GroupVersionKind
	// Selected reports whether an object is managed. Nil means that all are.
	Selected func(client.Object) bool
	// Retired are finalizers of an earlier operator, which are removed.
	Retired []string
	// ApplySets adds to every object the metadata of the parent of an ApplySet, which costs one additional write
	// per object. Objects with the finalizer have it anyway.
	ApplySets bool
	// WithoutStatus manages a kind whose status belongs to other managers, or that has none: its report is
	// stored in memory, and sent as events.
	WithoutStatus bool
}

// Config of a reconciler.
type Config[T client.Object] struct {
	// Roles are the author's functions.
	Roles author.Roles[T]
	// Manager is the operator's name: field manager, and value of the managed-by label.
	Manager string
	// Version is the version of the operator. If empty, nothing is recorded or upgraded.
	Version string
	API
	Telemetry
	// Record is the record of the operator, shared by its kinds.
	Record *Record
	Managed
	// Events records events.
	Events events.EventRecorder
	// Rate limits how often one object is reconciled. Zero means queue.DefaultRate.
	Rate queue.Rate
	// DryRun, if set, receives what would be done, and nothing is done. It is called again
	// for an object only when that changes.
	DryRun func(report.Preview)
	// Timeout is how long a reconcile may take. Zero means no limit.
	Timeout time.Duration
	// Reads begins the read session of a reconcile.
	Reads func(reader types.NamespacedName) author.Reads
	// Clock returns the time. Nil means the real clock.
	Clock clock.PassiveClock
	// Mine reports whether work that began under a context may continue with an object: if several
	// processes share objects, an object of the same name may be another one by now. Nil means that they do not share objects.
	Mine func(ctx context.Context, object types.UID) bool
}

// Reconciler reconciles the objects of one kind.
type Reconciler[T client.Object] struct {
	Config[T]
	kind     schema.GroupVersionKind
	applier  *apply.Applier
	keeper   *providers.Keeper // of resources outside the cluster
	objects  objects
	triggers queue.Triggers
	echoes   *freshness.Echoes
	kinds    kinds
}

// New returns a reconciler. It returns an error for a type that lacks the status fields that Operon
// writes.
func New[T client.Object](cfg Config[T]) (*Reconciler[T], error) {
	cfg.Rate = cmp.Or(cfg.Rate, queue.DefaultRate)
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	r := &Reconciler[T]{Config: cfg, keeper: providers.NewKeeper(cfg.Clock, report.CountCall), echoes: freshness.NewEchoes()}
	r.applier = apply.New(apply.Config{
		Client: cfg.Direct, Endpoints: cfg.Endpoints, Manager: cfg.Manager, Writes: cfg.Writes, Children: r.kinds.children, Fenced: cfg.Mine != nil,
	})
	object, err := NewObject[T](cfg.Kind)
	if err != nil {
		return nil, err
	}
	if r.kind, err = apiutil.GVKForObject(object, cfg.Client.Scheme()); err != nil {
		return nil, fmt.Errorf("%w; register its API with operon.API", err)
	}
	r.History.Manages(r.kind)
	return r, checkStatus(cfg, object)
}

// checkStatus rejects a kind without the status fields that Operon writes, and roles that need them.
func checkStatus[T client.Object](cfg Config[T], object T) error {
	if cfg.WithoutStatus {
		for _, role := range []struct {
			has  bool
			name string
		}{
			{cfg.Roles.Observe != nil, "Observe"}, {cfg.Roles.RunWorkflow != nil, "RunWorkflow"}, {cfg.Roles.Upgrade != nil, "Upgrade"},
		} {
			if role.has {
				return fmt.Errorf("its composer has a method %s, which needs a status to write, and the option WithoutStatus says that there is none", role.name)
			}
		}
		return nil
	}
	if _, err := condition.Of(object); err != nil {
		return fmt.Errorf("%w\nFor a kind that is not yours, use the option operon.WithoutStatus", err)
	}
	return checkWorker(cfg.Roles, object)
}

// NewObject returns an empty T of a kind.
func NewObject[T client.Object](of schema.GroupVersionKind) (T, error) {
	kind := reflect.TypeFor[T]()
	if kind.Kind() != reflect.Pointer {
		return *new(T), fmt.Errorf("%s is not a pointer to a struct", kind)
	}
	object, ok := reflect.New(kind.Elem()).Interface().(T)
	if !ok {
		return *new(T), fmt.Errorf("%s cannot be made", kind)
	}
	object.GetObjectKind().SetGroupVersionKind(of)
	return object, nil
}

// KindName returns the kind of the objects, without its group.
func (r *Reconciler[T]) KindName() string { return r.kind.Kind }

// Trigger records why an object is reconciled, before it is queued.
func (r *Reconciler[T]) Trigger(key types.NamespacedName, why trigger.Cause) {
	r.triggers.Add(key, why)
}

// Handler returns the event handler that queues the objects of the reconciler's kind for their watch events,
// except for those of the status and of own finalizers that their own reconciles wrote.
func (r *Reconciler[T]) Handler() handler.EventHandler {
	seen := func(object client.Object, gone bool) {
		if gone || unwanted(r.Roles, object) {
			r.objects.stopWork(object)
		}
		if orphans(object) {
			r.objects.orphan(client.ObjectKeyFromObject(object), object.GetUID())
		}
	}
	return r.triggers.Handler(seen, func(before, after client.Object) bool {
		return r.echoes.Is(after, changed(before, after))
	})
}

// changed returns what differs between two states of an object. A watch that was interrupted may deliver changes by others
// together with our write.
func changed(before, after client.Object) freshness.Part {
	switch {
	case before.GetUID() != after.GetUID() || before.GetGeneration() != after.GetGeneration() ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(foreignAnnotations(before), foreignAnnotations(after)) ||
		!slices.Equal(foreignFinalizers(before), foreignFinalizers(after)) ||
		!reflect.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()):
		return freshness.More
	case maps.Equal(before.GetAnnotations(), after.GetAnnotations()) && slices.Equal(before.GetFinalizers(), after.GetFinalizers()):
		return freshness.Status
	case hasStatus(before) && !sameStatus(before, after):
		return freshness.More
	}
	return freshness.Metadata
}

func foreignAnnotations(of client.Object) map[string]string {
	foreign := maps.Clone(of.GetAnnotations())
	delete(foreign, external.RecordAnnotation)
	return foreign
}

func foreignFinalizers(of client.Object) []string {
	own := []string{Finalizer, CleanupFinalizer, ExternalFinalizer, StepsFinalizer}
	return slices.DeleteFunc(slices.Clone(of.GetFinalizers()), func(name string) bool { return slices.Contains(own, name) })
}
