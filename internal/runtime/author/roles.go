package author

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/core/operatorversion"
)

// Roles are the functions of a composer that the runtime calls. The root package documents them for authors, with one
// interface for each. All except Compose may be nil.
type Roles[T client.Object] struct {
	// Compose declares the children of an object.
	Compose func(ctx context.Context, object T, out *Composition) error
	// Observe sets an object's status from the existing objects.
	Observe func(ctx context.Context, object T, seen *Observed) error
	// Default sets defaults.
	Default func(ctx context.Context, object T) error
	// Finalize cleans up before an object and its children are deleted.
	Finalize func(ctx context.Context, object T, out *Finalization) error
	// RunWorkflow executes work on an object in steps. Canceled returns the reason why the work is no longer wanted.
	RunWorkflow func(ctx context.Context, object T, run *durable.Run) error
	Canceled    func(object T) (why string)
	// Upgrade runs once for an object that an older version of the operator reconciled last.
	Upgrade func(ctx context.Context, object T, from *UpgradeContext) error
	// ComposeExternal declares the external resources of an object.
	ComposeExternal func(ctx context.Context, object T, out *ExternalComposition) error
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
func (u *UpgradeContext) Before(version string) bool { return operatorversion.Before(u.From, version) }

// RolesIn returns the Roles in an operon.Option, one for each kind that it manages. It is for packages that run composers
// without an operator, such as operontest. Package operon sets it, because only that package knows its interfaces.
var RolesIn func(option any) []any
