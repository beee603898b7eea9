package aggregated

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Errors by which roles say what a client should hear in Kubernetes' words. Any other error, unless
// it is one of k8s.io/apimachinery/pkg/api/errors, is told as an internal one.
var (
	// ErrNotFound says that there is no such object.
	ErrNotFound = errors.New("not found")
	// ErrExists says that there is one already.
	ErrExists = errors.New("already exists")
	// ErrConflict says that an object changed since the client read it.
	ErrConflict = errors.New("changed meanwhile")
)

// Reader answers for the objects of a kind. Who asks is in the context: see User. What it returns is
// the caller's to change.
type Reader[T client.Object] interface {
	// Get returns an object, or ErrNotFound.
	Get(ctx context.Context, key client.ObjectKey) (T, error)
	// List returns all objects in a namespace, or in all where it is "". Selectors are applied to
	// what it returns.
	List(ctx context.Context, namespace string) ([]T, error)
}

// Creator is a Reader that makes objects, too, or answers a Review.
type Creator[T client.Object] interface {
	// Create makes the object, which has a name, a UID and a time of creation, and returns it as it is
	// then; ErrExists if there is one of that name. A Review has none of these, and returns the answer.
	Create(ctx context.Context, object T) (T, error)
}

// Updater is a Reader that changes objects, too.
type Updater[T client.Object] interface {
	// Update makes of an object, as Get returned it a moment ago, what is wanted of it, and returns it
	// as it is then; ErrConflict where it is not that any more.
	Update(ctx context.Context, is, wanted T) (T, error)
}

// Deleter is a Reader that deletes objects, too.
type Deleter[T client.Object] interface {
	// Delete deletes an object, as Get returned it a moment ago.
	Delete(ctx context.Context, object T) error
}

// Watcher is a Reader that tells when objects change.
type Watcher[T client.Object] interface {
	// Watch returns as soon as it listens for changes in a namespace, or in all where it is "": what a List
	// returns from then on, with what the listener hears, has to be all. It goes on listening until the context
	// ends. An error refuses the client.
	Watch(ctx context.Context, namespace string, listener Listener[T]) error
}

// Listener hears of changes. It may be told too often, or of what there is already: what did not change is
// passed on to nobody. Its methods return at once, whatever locks are held, as a client that is too slow for
// what it hears loses its watch. What they are given is the listener's to keep.
type Listener[T client.Object] interface {
	// Changed tells of an object that appeared, or is not what it was.
	Changed(object T)
	// Gone tells of an object that is there no more, as it was at last.
	Gone(object T)
	// Ended says that nothing more is heard, and why, if that is known. Clients begin anew.
	Ended(reason error)
}

// Resource says how the objects of a kind are served. The zero value: in namespaces, under the usual
// plural of the kind, with name and age in tables.
type Resource[T client.Object] struct {
	// Plural is the name in paths and Roles. Empty: the lower-case kind with an s, or as English has it.
	Plural string
	// ShortNames and Categories are for kubectl.
	ShortNames, Categories []string
	// ClusterScoped objects are in no namespace.
	ClusterScoped bool
	// Columns are those that `kubectl get` shows between name and age.
	Columns []Column[T]
}

// Column is one of a table.
type Column[T client.Object] struct {
	// Name stands above it.
	Name string
	// Type is that of OpenAPI: string, integer, number, boolean or date. Empty: string.
	Type string
	// Wide columns are shown with -o wide only.
	Wide bool
	// Of is the column's value.
	Of func(object T) any
}
