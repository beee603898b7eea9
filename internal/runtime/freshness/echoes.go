package freshness

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// FormOf is the form of an object.
func FormOf(object metav1.Object) Form {
	return Form{UID: object.GetUID(), Version: resourceclient.Revision(object.GetResourceVersion()), Deleting: object.GetDeletionTimestamp() != nil}
}

// Echoes tells the watch events of the status that the operator wrote from those that are news. The event often comes before the
// answer to the write: then it is held until the answer is there.
type Echoes struct {
	ledger *Ledger[types.NamespacedName, Form]
	watch  *Watch[types.NamespacedName, Form]
}

// NewEchoes returns echoes without writes.
func NewEchoes() *Echoes {
	ledger := New[types.NamespacedName](Config[Form]{Form: func(f Form) Form { return f }, Exact: true})
	covers := func(types.NamespacedName, Form) bool { return true }
	return &Echoes{ledger, ledger.Watch(covers, Cache[types.NamespacedName]{}, func(Form) {})}
}

// Begin marks a write as in flight that is based on a state of an object.
func (e *Echoes) Begin(read client.Object) *Flight[types.NamespacedName, Form] {
	return e.ledger.Begin(client.ObjectKeyFromObject(read), FormOf(read).Version)
}

// Is reports whether a state that the watch shows is an own write, or may be. What changed besides the status is news.
func (e *Echoes) Is(shown client.Object, changed bool) bool {
	key := client.ObjectKeyFromObject(shown)
	if changed {
		key = types.NamespacedName{} // no more is to be known of it than that the watch has passed its version
	}
	return e.watch.Shown(key, FormOf(shown), nil) == Known
}
