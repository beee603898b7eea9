package external

import (
	"context"
	"fmt"
)

// Provider manages the resources of one kind in an external system. D is the desired state of a resource, S its
// observed state. If possible, implement Finder and Once as well.
//
// Guarantees: one process never calls two methods for the same resource at the same time. Each call has a context
// that ends. Errors are reported in the owner's status, so they must not contain secrets. Assumptions: the effect
// of a method that has returned is visible to the other methods from then on.
type Provider[D, S any] interface {
	// Observe returns the observed state of the resource with an ID. It is not an error if the resource does not
	// exist. If the resource is about to be deleted, desired is the zero value, and only Exists matters.
	Observe(ctx context.Context, id string, desired D) (Observation[S], error)
	// Create creates a resource and returns its ID, which must not be empty. It stores mark.Key where Find can
	// find it: in the name, a tag or a field.
	Create(ctx context.Context, mark Mark, desired D) (id string, err error)
	// Update changes the fields that Observe reported as drift.
	Update(ctx context.Context, id string, desired D) error
	// Delete starts to delete a resource. It is not an error if the resource no longer exists.
	Delete(ctx context.Context, id string) error
}

// Finder is a provider that finds a resource by the key that was passed to Create. Without it, a person has to
// resolve a creation whose result is unknown, and recorded IDs are trusted: anyone who may write the owner can name another
// tenant's resource.
type Finder interface {
	// Find returns the ID of the resource with a key, or "" if it does not exist.
	Find(ctx context.Context, key string) (id string, err error)
}

// Once is a provider whose Create is idempotent: it creates at most one resource for a mark, however often it is
// called, because the key is a unique name or because the system honors tokens. A second call returns the ID of
// the first.
type Once interface {
	// CreatesOnce only marks the provider. It is not called.
	CreatesOnce()
}

// Mark identifies a resource and its creation.
type Mark struct {
	// Name is the name that the author declared.
	Name string
	// Key is the same for every resource with this name of this owner, and differs from all others. It has 26
	// letters and digits, and begins with a letter.
	Key string
	// Token is the idempotency token of the creation: the same if a creation is repeated, and different for each
	// new one. Pass it to systems that use tokens to recognize repeated requests.
	Token string
}

// Observation is the observed state of a resource.
type Observation[S any] struct {
	// Exists is false if the resource does not exist.
	Exists bool
	// State is for the author's code.
	State S
	// Waits is empty if the resource is ready. Otherwise it is a clause that states what the resource waits for.
	Waits string
	// Drift names fields that differ from the desired state and can be updated. Immutable names fields that differ and cannot
	// be changed.
	Drift, Immutable []string
	// Details are what a client needs to connect, such as an address and a password, for a Secret.
	Details map[string][]byte
}

// Known is the known state of a resource when children are composed and the status is reported.
type Known[S any] struct {
	Name, ID string
	// Exists is false if the resource is not created yet, or no longer exists.
	Exists bool
	// Ready is true if the resource exists, is up to date, and waits for nothing.
	Ready bool
	// Why states why the resource is not ready.
	Why     string
	State   S
	Details map[string][]byte
}

// Calls contains the methods of a provider without its types.
type Calls struct {
	Observe func(ctx context.Context, id string, desired any) (Observation[any], error)
	Create  func(ctx context.Context, mark Mark, desired any) (string, error)
	Update  func(ctx context.Context, id string, desired any) error
	Delete  func(ctx context.Context, id string) error
	// Find is nil if the provider is not a Finder.
	Find func(ctx context.Context, key string) (string, error)
	Once bool
}

// CallsOf returns the methods of a provider without its types.
func CallsOf[D, S any](p Provider[D, S]) Calls {
	c := Calls{
		Observe: func(ctx context.Context, id string, desired any) (Observation[any], error) {
			d, _ := desired.(D) // the zero value if the resource is no longer declared
			seen, err := p.Observe(ctx, id, d)
			return Observation[any]{
				Exists: seen.Exists, State: seen.State, Waits: seen.Waits, Drift: seen.Drift, Immutable: seen.Immutable, Details: seen.Details,
			}, err
		},
		Create: func(ctx context.Context, mark Mark, desired any) (string, error) {
			return p.Create(ctx, mark, desired.(D))
		},
		Update: func(ctx context.Context, id string, desired any) error { return p.Update(ctx, id, desired.(D)) },
		Delete: p.Delete,
	}
	if finder, ok := p.(Finder); ok {
		c.Find = finder.Find
	}
	_, c.Once = p.(Once)
	return c
}

// KnownAs converts the known states of resources to their type. It returns an error if the type is not the provider's.
func KnownAs[S any](all []Known[any]) ([]Known[S], error) {
	var typed []Known[S]
	for _, k := range all {
		state, ok := k.State.(S)
		if !ok && k.State != nil {
			return nil, fmt.Errorf("the provider of %s returns %T, and %T is asked for", k.Name, k.State, state)
		}
		typed = append(typed, Known[S]{
			Name: k.Name, ID: k.ID, Exists: k.Exists, Ready: k.Ready, Why: k.Why, State: state, Details: k.Details,
		})
	}
	return typed, nil
}
