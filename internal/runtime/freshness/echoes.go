package freshness

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// FormOf returns the form of an object.
func FormOf(object metav1.Object) Form {
	return Form{UID: object.GetUID(), Version: resourceclient.Revision(object.GetResourceVersion()), Deleting: object.GetDeletionTimestamp() != nil}
}

// Echoes distinguishes the watch events of the operator's own status writes from news. The event often arrives before the
// response to the write. Then it is held until the response arrives.
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

// Begin marks the start of a write that is based on a state of an object.
func (e *Echoes) Begin(read client.Object) *Flight[types.NamespacedName, Form] {
	return e.ledger.Begin(client.ObjectKeyFromObject(read), FormOf(read).Version)
}

// Is reports whether a state that the watch shows is or may be an own write. A change outside the status is news.
func (e *Echoes) Is(shown client.Object, changed bool) bool {
	key := client.ObjectKeyFromObject(shown)
	if changed {
		key = types.NamespacedName{} // only the fact that the watch has passed this version is relevant
	}
	return e.watch.Shown(key, FormOf(shown), nil) == Known
}
