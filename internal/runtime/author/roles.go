package author

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/core/operatorversion"
)

// Composer declares the children of an object.
type Composer[T client.Object] interface {
	// Compose adds to out each child that should exist for object. It is called in every
	// reconcile and must not write anything itself: children that it no longer adds are deleted.
	// An error ends the reconcile; nothing is applied or deleted then.
	Compose(ctx context.Context, object T, out *Composition) error
}

// Observer fills an object's status from what exists. A composer may be one.
type Observer[T client.Object] interface {
	// Observe sets fields of object's status. Conditions and observedGeneration are
	// Operon's. It runs after the children were applied, ready or not.
	Observe(ctx context.Context, object T, seen *Observed) error
}

// Defaulter fills in defaults. A composer may be one.
type Defaulter[T client.Object] interface {
	// Default sets fields of object that its author left out. It must have no effects, and do nothing
	// to an object that has its defaults already. It is called before objects are stored, where
	// API servers can call the operator's webhook, and before each reconcile, so that objects
	// stored without defaults are composed with them, too.
	Default(ctx context.Context, object T) error
}

// Worker does work on an object in steps, each of them once, whatever happens to the operator
// meanwhile. A composer may be one. The object's status needs the field
//
//	Journal *journal.Journal `json:"journal,omitempty"`
type Worker[T client.Object] interface {
	// Work takes the steps by durable.Do. It is called in each reconcile, before Compose, and may
	// set fields of object's status; see package durable for its other rules. Children are
	// reconciled while it continues.
	Work(ctx context.Context, object T, run *durable.Run) error
}

// Canceller is a Worker that decides by the object whether its work is no longer wanted. The
// deletion of the object always cancels it.
type Canceller[T client.Object] interface {
	// Cancelled returns why the work is no longer wanted, or "" while it is.
	Cancelled(object T) (why string)
}

// Upgrader is a composer that has something to do once for each object that an older version of
// the operator reconciled last: to move what the older one kept elsewhere, for instance.
type Upgrader[T client.Object] interface {
	// Upgrade runs before Compose. While it returns an error it is called again, and nothing else is
	// done for the object. It is also called again if the operator is killed before the object's
	// status records the upgrade, so it must be idempotent; find what it created by from.Key.
	// Several steps that must each happen once belong in Worker.
	Upgrade(ctx context.Context, object T, from *Upgrading) error
}

// Upgrading is what an upgrader is given.
type Upgrading struct {
	// From is the version of the operator that reconciled the object last; empty if that version
	// had no name. To is this one's.
	From, To string
	// Key is the same whenever the object is upgraded from that version, by whichever process or later
	// version, until the upgrade is recorded, and differs from that of any other object: 32 hexadecimal
	// digits. Use it to find what an earlier attempt created.
	Key string
	// Client reads and writes without a cache.
	Client client.Client
}

// Before reports whether the object was last reconciled by an operator older than a version.
func (u *Upgrading) Before(version string) bool { return operatorversion.Before(u.From, version) }

// Provisioner declares what should exist outside of the cluster for an object. A composer may be one.
type Provisioner[T client.Object] interface {
	// Provision adds to out each kind of external resource, with its provider, and each resource that
	// should exist. It runs before Compose, and once more when the object is being deleted; then
	// only the kinds matter, because whatever was declared is deleted. It must not change
	// anything itself. After an error, or a Wait, nothing is done for the object, its children included.
	Provision(ctx context.Context, object T, out *Provision) error
}
