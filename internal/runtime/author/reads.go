package author

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// Reads is how one reconcile reads its dependencies: when they change, it runs again. *watches.Session implements it and
// documents the guarantees of the methods.
type Reads interface {
	// Children returns the objects of a kind that have an owner's label. The owner is reconciled when one of them changes in
	// its own namespace or in one of elsewhere.
	Children(ctx context.Context, kind resourceclient.Children, owner types.UID, elsewhere ...string) ([]*plan.Live, error)
	// List reads the selected objects into list.
	List(ctx context.Context, list client.ObjectList, selection watches.Selection) error
	// Get reads one object by its name, and returns false if it does not exist.
	Get(ctx context.Context, object client.Object) (bool, error)
	// End releases the watches that only earlier reconciles of the same object used.
	End()
}
