package reconcile

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/track"
)

// Reads is how one reconcile reads what it depends on: what it read, it is run again for.
type Reads interface {
	// List reads the selected objects into list.
	List(ctx context.Context, list client.ObjectList, selection track.Selection) error
	// End lets go of what only earlier reconciles of the same object read.
	End(ctx context.Context) error
}

// watches are reads from watches that last until life ends.
func (r *Reconciler[T]) watches(life context.Context) func(types.NamespacedName) Reads {
	tracker := track.New(life, track.Config{
		REST:       r.REST,
		Client:     r.Direct,
		Namespaces: r.Namespaces,
		Changed:    r.changed,
		Deleted:    r.applier.Gone,
	})
	r.watchCount = tracker.Watches
	return func(reader types.NamespacedName) Reads { return tracker.Begin(reader) }
}
