package author

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/core/operatorversion"
)

// Roles are the functions of a composer that the runtime calls. The root package documents them to authors, by one
// interface each. All but Compose may be nil.
type Roles[T client.Object] struct {
	// Compose declares the children of an object.
	Compose func(ctx context.Context, object T, out *Composition) error
	// Observe fills an object's status from what exists.
	Observe func(ctx context.Context, object T, seen *Observed) error
	// Default fills in defaults.
	Default func(ctx context.Context, object T) error
	// Finalize cleans up before an object and its children are deleted.
	Finalize func(ctx context.Context, object T, out *Finalization) error
	// RunWorkflow does work on an object in steps. Canceled returns why that is no longer wanted.
	RunWorkflow func(ctx context.Context, object T, run *durable.Run) error
	Canceled    func(object T) (why string)
	// Upgrade runs once for an object that an older version of the operator reconciled last.
	Upgrade func(ctx context.Context, object T, from *UpgradeContext) error
	// ComposeExternal declares the external resources of an object.
	ComposeExternal func(ctx context.Context, object T, out *ExternalComposition) error
}

// UpgradeContext is what Upgrade is given.
type UpgradeContext struct {
	// From is the version of the operator that reconciled the object last; empty if that version
	// had no name. To is this one's.
	From, To string
	// Key is the same for all attempts to upgrade the object from that version: 32 hexadecimal digits.
	Key string
	// Client reads and writes without a cache.
	Client client.Client
}

// Before reports whether the object was last reconciled by an operator older than a version.
func (u *UpgradeContext) Before(version string) bool { return operatorversion.Before(u.From, version) }

// RolesIn returns the Roles that an operon.Option has, one for each kind that it manages. Package operon sets it, which
// alone knows its interfaces, for packages that run composers without an operator, such as operontest.
var RolesIn func(option any) []any
