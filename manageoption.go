package operon

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/operon-framework/operon/internal/runtime/queue"
	"github.com/operon-framework/operon/internal/runtime/webhook"
)

// ManageOption changes how Manage manages one kind.
type ManageOption func(*manageSettings)

// manageSettings are the settings that the options of Manage specify.
type manageSettings struct {
	kind          schema.GroupVersionKind // empty: the kind of the Go type
	retired       []string
	concurrency   int
	applySets     bool
	rate          queue.Rate
	timeout       time.Duration
	only          func(client.Object) bool // selects objects of the kind; nil selects all
	migrate       bool
	webhooks      webhook.Options
	rules         []webhook.Rule
	withoutStatus bool
	triggers      []<-chan types.NamespacedName
}

func (s *manageSettings) validate() error {
	if s.concurrency < 1 {
		return fmt.Errorf("Concurrency(%d): want 1 or more", s.concurrency)
	}
	if s.timeout < 0 {
		return fmt.Errorf("Timeout(%s): want a time, or 0 for none", s.timeout)
	}
	if s.rate.Burst < 1 || s.rate.Every <= 0 {
		return fmt.Errorf("RateLimit(%d, %s): want a burst of 1 or more, and a time", s.rate.Burst, s.rate.Every)
	}
	return nil
}

// Kind names the kind to manage if the scheme has several kinds for the Go type, as for the kinds of an engine (see
// package engine). The default is the only kind of the Go type.
func Kind(kind schema.GroupVersionKind) ManageOption {
	return func(s *manageSettings) { s.kind = kind }
}

// Selector limits Manage to the objects of the kind whose labels match. Default: all. An object whose labels no longer match is left as it is, with
// its children and finalizers: they are for the operator that manages it from then on.
func Selector(selector labels.Selector) ManageOption {
	return func(s *manageSettings) {
		s.only = func(o client.Object) bool { return selector.Matches(labels.Set(o.GetLabels())) }
	}
}

// selects passes the events of the objects that are selected, or were selected before.
func selects(only func(client.Object) bool) predicate.Predicate {
	if only == nil {
		return predicate.Funcs{}
	}
	selected := predicate.NewPredicateFuncs(only)
	selected.UpdateFunc = func(e event.UpdateEvent) bool { return only(e.ObjectOld) || only(e.ObjectNew) }
	return selected
}

// RetireFinalizers removes finalizers that an earlier operator of the kind set and that no other client would remove:
// in the write that sets the finalizers of this operator and, if the object is being deleted, after its children are
// deleted. For an object that only has such a finalizer and is being deleted, Finalize is called.
func RetireFinalizers(names ...string) ManageOption {
	return func(s *manageSettings) { s.retired = append(s.retired, names...) }
}

// Concurrency sets how many objects of the kind are reconciled concurrently, at least 1. Default: 8, because a
// reconcile mostly waits for the API server. The same object is never reconciled concurrently.
func Concurrency(n int) ManageOption {
	return func(s *manageSettings) { s.concurrency = n }
}

// ApplySets makes every object of the kind the parent of an ApplySet that kubectl understands, even if no child needs
// a finalizer. It costs one write for each object.
func ApplySets() ManageOption {
	return func(s *manageSettings) { s.applySets = true }
}

// RateLimit limits how often one object is reconciled: burst times at once, and then once per interval. Rate-limited
// reconciles are delayed but not lost, because each reads the current state. Other objects are not delayed. Default:
// 60, then once per second, which large objects do not reach while they converge.
func RateLimit(burst int, every time.Duration) ManageOption {
	return func(s *manageSettings) { s.rate = queue.Rate{Burst: burst, Every: every} }
}

// Timeout cancels the context of a reconcile that takes longer. The reason is TimedOut, and the object is retried with
// backoff, from 20 ms to 30 s. Default: 0, no timeout.
//
// Code that ignores its context cannot be stopped: it occupies one of the workers that Concurrency sets. Observe has
// the same timeout again, and also runs after a Compose that timed out.
func Timeout(d time.Duration) ManageOption {
	return func(s *manageSettings) { s.timeout = d }
}

// Trigger reconciles the object of each name that is sent on the channel, for example when a webhook of your program
// is called or a message arrives. Objects that do not exist are ignored. The channel is read only while this replica
// reconciles, so senders must not rely on a buffer.
func Trigger(names <-chan types.NamespacedName) ManageOption {
	return func(s *manageSettings) { s.triggers = append(s.triggers, names) }
}

// WithoutStatus manages a kind that is owned by others: a kind whose status other controllers write, such as Namespace
// or Service, or a kind without a status, such as ConfigMap. Nothing is written to status. Failures are reported by
// events, logs and metrics, and "operon explain" shows them.
//
// A composer of such a kind declares children, and labels and annotations of the object itself by Composition.Label and
// Annotate. It must not have the methods Observe, RunWorkflow and Upgrade, which need a status.
func WithoutStatus() ManageOption {
	return func(s *manageSettings) { s.withoutStatus = true }
}

// MigrateStorage rewrites the stored objects of the kind after its CRD has a new storage version, and then removes the
// older versions from status.storedVersions of the CRD. Only the leader does this, at 100 objects per second.
//
// It needs permission to get the CRD and to update its status, and to list and patch the kind in the whole cluster.
// Missing permissions are logged with the RBAC rule; everything else continues.
func MigrateStorage() ManageOption {
	return func(s *manageSettings) { s.migrate = true }
}
