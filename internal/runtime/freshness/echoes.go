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

// Echoes distinguishes the watch events of the operator's own writes of the status and of its finalizers from news. The event often arrives before the
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

// Part is the part of an object that a write or a watch event is about.
type Part int

const (
	// Status is the status alone.
	Status Part = iota
	// Metadata is what the runtime itself writes of the metadata, and possibly the status.
	Metadata
	// More is anything else.
	More
)

// Begin marks the start of a write of a part of an object. read is the version up to which the operator has read what others wrote. Of
// metadata, only the very response is an echo.
func (e *Echoes) Begin(object client.Object, part Part, read uint64) *Flight[types.NamespacedName, Form] {
	if part == Metadata {
		read = 0
	}
	return e.ledger.Begin(keyOf(object, part), read)
}

// Is reports whether a state that the watch shows is or may be an own write. part is what differs from the state before.
func (e *Echoes) Is(shown client.Object, part Part) bool {
	return e.watch.Shown(keyOf(shown, part), FormOf(shown), nil) == Known
}

// keyOf returns the key under which the writes of a part are stored: no write is More, and the watch event of a write of the metadata
// may arrive after the response to a later write of the status.
func keyOf(object client.Object, part Part) types.NamespacedName {
	key := client.ObjectKeyFromObject(object)
	switch part {
	case Metadata:
		key.Name += "/metadata"
	case More:
		return types.NamespacedName{} // only the fact that the watch has passed this version is relevant
	}
	return key
}
