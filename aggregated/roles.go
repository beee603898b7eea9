package aggregated

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Errors of roles that clients receive as the matching errors of the Kubernetes API. Errors of
// k8s.io/apimachinery/pkg/api/errors are passed on, and any other error is returned as an internal error.
var (
	// ErrNotFound reports that the object does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists reports that the object already exists.
	ErrExists = errors.New("already exists")
	// ErrConflict reports that the object changed since the client read it.
	ErrConflict = errors.New("changed meanwhile")
)

// Reader returns the objects of a kind. The context holds the user that sent the request: see User. The caller may
// change the returned objects.
type Reader[T client.Object] interface {
	// Get returns an object, or ErrNotFound.
	Get(ctx context.Context, key client.ObjectKey) (T, error)
	// List returns all objects in a namespace, or in all namespaces if it is "". Selectors are applied to the
	// result.
	List(ctx context.Context, namespace string) ([]T, error)
}

// Creator is a Reader that can also create objects, or answers a Review.
type Creator[T client.Object] interface {
	// Create creates the object, which has a name, a UID and a creation timestamp, and returns it as stored. It
	// returns ErrExists if an object of that name exists. The object of a Review has none of these, and Create
	// returns the answer.
	Create(ctx context.Context, object T) (T, error)
}

// Updater is a Reader that can also update objects.
type Updater[T client.Object] interface {
	// Update changes an object, as Get just returned it, to the wanted state, and returns it as stored. It returns
	// ErrConflict if the object has changed since.
	Update(ctx context.Context, is, wanted T) (T, error)
}

// Deleter is a Reader that can also delete objects.
type Deleter[T client.Object] interface {
	// Delete deletes an object, as Get just returned it.
	Delete(ctx context.Context, object T) error
}

// Watcher is a Reader that also reports changes of objects.
type Watcher[T client.Object] interface {
	// Watch returns as soon as it listens for changes in a namespace, or in all namespaces if it is "". A List
	// from then on, along with the changes that the listener receives, must be complete. It continues to listen
	// until the context is canceled. If it returns an error, the request is rejected.
	Watch(ctx context.Context, namespace string, listener Listener[T]) error
}

// Listener receives changes. It ignores repeated changes and those that change nothing. Its methods return
// immediately and never wait, even if the caller holds locks, because a client that is too slow loses its watch.
// The listener owns the objects that it receives.
type Listener[T client.Object] interface {
	// Changed reports an object that was created or changed.
	Changed(object T)
	// Gone reports an object that no longer exists, in its last state.
	Gone(object T)
	// Ended reports that no further changes will follow, and why, if known. Clients then start again.
	Ended(reason error)
}

// Resource configures how the objects of a kind are served. The zero value: namespaced, with the usual plural of
// the kind, and with name and age in tables.
type Resource[T client.Object] struct {
	// Plural is the name in paths and Roles. Empty: the plural of the lower-case kind, by the rules of English.
	Plural string
	// ShortNames and Categories are for kubectl.
	ShortNames, Categories []string
	// ClusterScoped reports whether objects have no namespace.
	ClusterScoped bool
	// Columns are the columns that `kubectl get` shows between name and age.
	Columns []Column[T]
	// Contents are subresources whose content is not a Kubernetes object, by their names: a GET of PLURAL/NAME/SUBRESOURCE
	// returns it. Clients need the verb get on PLURAL/SUBRESOURCE. The functions return ErrNotFound if the object does not
	// exist.
	Contents map[string]func(ctx context.Context, key client.ObjectKey) (*Content, error)
}

// Column is a column of a table.
type Column[T client.Object] struct {
	// Name is the header of the column.
	Name string
	// Type is an OpenAPI type: string, integer, number, boolean or date. Empty: string.
	Type string
	// Wide columns are shown with -o wide only.
	Wide bool
	// Of returns the value of the column for an object.
	Of func(object T) any
}
