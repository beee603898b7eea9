package operon

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/webhook"
)

// Composer declares the children of the objects of one kind. To add behavior, implement more of the interfaces of this
// package on the same type: Observer, Finalizer, Defaulter, Validator and so on.
type Composer[T client.Object] interface {
	// Compose adds to out each child that should exist for object. It is called in every reconcile and must not write
	// anything itself: children that it no longer adds are deleted. If it returns an error, the reconcile ends, and
	// nothing is applied or deleted.
	Compose(ctx context.Context, object T, out *Composition) error
}

// Observer sets an object's status from the state of the cluster.
type Observer[T client.Object] interface {
	// Observe sets fields of object's status. Operon itself sets observedGeneration and the conditions Ready,
	// Reconciling, Stalled, Degraded, Contested, Paused and Upgraded. Observe runs after the children were applied,
	// ready or not.
	Observe(ctx context.Context, object T, seen *Observed) error
}

// Finalizer cleans up when an object is deleted: for example, it creates a last backup, or removes resources outside of
// the cluster that are not managed as external resources (see ExternalComposer).
//
// Guarantees: the object has the finalizer operon.dev/cleanup before any resource is created for it. Finalize runs
// while all children still exist, and neither they nor the object are removed before it succeeds. If a later version of
// the operator no longer has the method, the finalizer is removed.
//
// Caveats: garbage collection does not wait for finalizers if the object is deleted with --cascade=foreground, which is Argo CD's default. It
// then deletes children that have an owner reference while Finalize runs.
type Finalizer[T client.Object] interface {
	// Finalize is called until it returns nil without a Wait, Fail or RequeueAfter on out. It may be called again
	// after it succeeded, because the operator may be killed before that is recorded, so it must be idempotent.
	Finalize(ctx context.Context, object T, out *Finalization) error
}

// Defaulter sets defaults.
type Defaulter[T client.Object] interface {
	// Default sets fields that the user omitted. It must have no other effects, and must not change an object that
	// already has its defaults. It is called before objects are stored, if API servers can reach the operator's
	// webhook, and before each reconcile, so that objects stored without defaults also get them.
	Default(ctx context.Context, object T) error
}

// Validator rejects invalid objects with an admission webhook.
type Validator[T client.Object] interface {
	// Validate returns the errors in an object that is about to be created or updated, by field, or nil if it is valid.
	// It must have no side effects. It is not called for updates of the status.
	Validate(ctx context.Context, object T, about *Admission[T]) field.ErrorList
}

// DeletionValidator rejects deletions with an admission webhook.
type DeletionValidator[T client.Object] interface {
	// ValidateDeletion returns the reason why object must not be deleted now, or nil if it may be deleted. It must have
	// no side effects. If it rejects a deletion, the deletion of the object's namespace is rejected, too.
	ValidateDeletion(ctx context.Context, object T, about *Admission[T]) error
}

// Admission describes an admission request, besides the object.
type Admission[T client.Object] struct {
	// Old is the stored object. Created reports that there is none, because the object is about to be created.
	Old     T
	Created bool
	// User is the client that sent the request.
	User authenticationv1.UserInfo
	// DryRun reports that nothing will be stored.
	DryRun bool

	warn func(text string)
}

// Warn sends a warning to the client, which kubectl prints. Keep it below 120 characters, the limit of API servers.
func (a *Admission[T]) Warn(text string) {
	if a.warn != nil {
		a.warn(text)
	}
}

func newAdmission[T client.Object](about *webhook.Admission[T]) *Admission[T] {
	return &Admission[T]{Old: about.Old, Created: about.Created, User: about.User, DryRun: about.DryRun, warn: about.Warn}
}

// WorkflowRunner runs a workflow for an object in durable steps. Each step runs once, even if the operator is killed
// between steps: see package durable. The status of the object needs the field
//
//	Journal *journal.Journal `json:"journal,omitempty"`
type WorkflowRunner[T client.Object] interface {
	// RunWorkflow runs the steps by durable.Do. It is called in each reconcile, before Compose, and may
	// set fields of object's status; see package durable for its other rules. Children are
	// reconciled while it continues.
	RunWorkflow(ctx context.Context, object T, run *durable.Run) error
}

// Canceler is a WorkflowRunner that can cancel its workflow, depending on the object. The deletion of the object
// always cancels it.
type Canceler[T client.Object] interface {
	// Canceled returns the reason why the workflow is canceled, or "" if it is not canceled.
	Canceled(object T) (why string)
}

// Upgrader does something once for each object that an older version of the operator reconciled last, such as moving
// data that the older version stored elsewhere. Version states the version of the operator.
type Upgrader[T client.Object] interface {
	// Upgrade runs before Compose. As long as it returns an error, it is retried, and nothing else is done for the
	// object. It is also called again if the operator is killed before the status of the object records the upgrade, so
	// it must be idempotent. Use from.Key to find objects that an earlier attempt created. Several steps that must each
	// run once belong in RunWorkflow.
	Upgrade(ctx context.Context, object T, from *UpgradeContext) error
}

// UpgradeContext is the context of an Upgrade.
type UpgradeContext struct {
	// From is the version of the operator that reconciled the object last, or "" if that version had no name. To is the
	// version of this operator.
	From, To string
	// Key is 32 hexadecimal digits that are the same for all attempts to upgrade the object from that version, in any
	// process, until the upgrade is recorded, and differ from those of any other object. Use it to find objects that an
	// earlier attempt created.
	Key string
	// Client reads and writes without a cache.
	Client client.Client
}

// Before reports whether the object was last reconciled by an operator older than a version.
func (u *UpgradeContext) Before(version string) bool {
	return (*author.UpgradeContext)(u).Before(version)
}

// ExternalComposer declares the external resources of an object: machines, buckets, accounts.
//
// Guarantees: each external resource is created once, even if the operator is killed at any point or two instances of
// it overlap. It is deleted when it is no longer declared or its object is deleted; a finalizer keeps the object until
// then. While it is not known which external resources exist, nothing is written and no child is changed.
//
// Assumptions: the provider keeps the contract of external.Provider, and the operator may patch the objects that it
// manages. No other client writes the annotation operon.dev/external.
//
// Caveats: if the provider is not an external.Finder, a person has to resolve a crash in the middle of a creation; the
// condition states how. If it is not an external.Once, an operator that freezes for a long time right before it sends
// a creation may send it after another instance did.
type ExternalComposer[T client.Object] interface {
	// ComposeExternal adds to out each kind of external resource, with its provider, and each resource that should
	// exist. It runs before Compose, and again when the object is being deleted. In that case only the kinds matter,
	// because all of their resources are deleted. It must not change anything itself. After an error or a Wait, nothing
	// is done for the object or its children.
	ComposeExternal(ctx context.Context, object T, out *ExternalComposition) error
}

// rolesOf returns the functions of a composer, according to the interfaces that it implements.
func rolesOf[T client.Object](composer Composer[T]) author.Roles[T] {
	roles := author.Roles[T]{
		Compose: func(ctx context.Context, object T, out *author.Composition) error {
			return composer.Compose(ctx, object, newComposition(out))
		},
	}
	if c, ok := any(composer).(Observer[T]); ok {
		roles.Observe = func(ctx context.Context, object T, seen *author.Observed) error {
			return c.Observe(ctx, object, newObserved(seen))
		}
	}
	if c, ok := any(composer).(Finalizer[T]); ok {
		roles.Finalize = func(ctx context.Context, object T, out *author.Finalization) error {
			return c.Finalize(ctx, object, newFinalization(out))
		}
	}
	if c, ok := any(composer).(Defaulter[T]); ok {
		roles.Default = c.Default
	}
	if c, ok := any(composer).(WorkflowRunner[T]); ok {
		roles.RunWorkflow = c.RunWorkflow
	}
	if c, ok := any(composer).(Canceler[T]); ok {
		roles.Canceled = c.Canceled
	}
	if c, ok := any(composer).(Upgrader[T]); ok {
		roles.Upgrade = func(ctx context.Context, object T, from *author.UpgradeContext) error {
			return c.Upgrade(ctx, object, (*UpgradeContext)(from))
		}
	}
	if c, ok := any(composer).(ExternalComposer[T]); ok {
		roles.ComposeExternal = func(ctx context.Context, object T, out *author.ExternalComposition) error {
			return c.ComposeExternal(ctx, object, newExternalComposition(out))
		}
	}
	return roles
}
