package author

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// Reads is how one reconcile reads what it depends on: what it read, it is run again for.
// *watches.Session is one, and tells what its methods guarantee.
type Reads interface {
	// Children returns the objects of a kind that carry an owner's label. The owner is reconciled when one of them
	// changes in its own namespace or in one of elsewhere.
	Children(ctx context.Context, kind resourceclient.Children, owner types.UID, elsewhere ...string) ([]*plan.Live, error)
	// List reads the selected objects into list.
	List(ctx context.Context, list client.ObjectList, selection watches.Selection) error
	// Get reads one object by its name, and returns false where there is none.
	Get(ctx context.Context, object client.Object) (bool, error)
	// End lets go of what only earlier reconciles of the same object read.
	End(ctx context.Context) error
}
