package external

import (
	"context"
	"fmt"
)

// Provider reaches the resources of one kind in an external system. D is what is wanted of one, S
// what is seen of it. Providers that can, are a [Finder] and a [Once] too.
//
// Guarantees: no two methods are called at once for one resource, by one process; each call has a
// context that ends. Errors are told to the owner's status, so they must not hold a secret.
// Assumptions: what a method returned is what the others see from then on.
type Provider[D, S any] interface {
	// Observe looks at the resource of an id. One that is not there is no error. Of a resource that
	// is to be deleted, desired is the zero value, and nothing but Exists matters.
	Observe(ctx context.Context, id string, desired D) (Observation[S], error)
	// Create makes a resource and returns its id, which must not be empty. It writes mark.Key where
	// Find finds it: into the name, a tag, a field.
	Create(ctx context.Context, mark Mark, desired D) (id string, err error)
	// Update changes what Observe reported as drift.
	Update(ctx context.Context, id string, desired D) error
	// Delete begins to delete a resource. One that is not there any more is no error.
	Delete(ctx context.Context, id string) error
}

// Finder is a provider that finds a resource by the key that Create gave it. Without it, a creation
// of which nobody knows how it ended has to be cleared up by a person, and recorded ids are trusted: whoever may write the owner
// can name another tenant's resource.
type Finder interface {
	// Find returns the id of the resource with a key, or "" where there is none.
	Find(ctx context.Context, key string) (id string, err error)
}

// Once is a provider whose Create makes at most one resource for a mark, however often it is called: as
// the key is a name that can be taken only once, or as the system heeds tokens. A second call
// returns the id of the first.
type Once interface {
	// CreatesOnce has no other purpose than to say so.
	CreatesOnce()
}

// Mark is what a resource is made under.
type Mark struct {
	// Name is the one that the author declared.
	Name string
	// Key is the same for every resource of this name of this owner, and differs from all others: 26
	// letters and digits, beginning with a letter.
	Key string
	// Token is another one for each creation, and the same when that is repeated: for systems that
	// take a token to tell a repeated request from a new one.
	Token string
}

// Observation is what is seen of a resource.
type Observation[S any] struct {
	// Exists is false where there is none.
	Exists bool
	// State is for the author's code.
	State S
	// Waits is empty when the resource is ready, else a clause that says what it waits for.
	Waits string
	// Drift names what differs from what is wanted and can be updated, Immutable what differs and
	// cannot.
	Drift, Immutable []string
	// Details are what it takes to connect, such as an address and a password, for a Secret.
	Details map[string][]byte
}

// Known is what is known of a resource when children are composed and the status is told.
type Known[S any] struct {
	Name, ID string
	// Exists is false while it is not made, and for what is gone.
	Exists bool
	// Ready is true when it exists, is as wanted, and waits for nothing.
	Ready bool
	// Why says why it is not ready.
	Why     string
	State   S
	Details map[string][]byte
}

// Calls are a provider whose types are forgotten.
type Calls struct {
	Observe func(ctx context.Context, id string, desired any) (Observation[any], error)
	Create  func(ctx context.Context, mark Mark, desired any) (string, error)
	Update  func(ctx context.Context, id string, desired any) error
	Delete  func(ctx context.Context, id string) error
	// Find is nil where the provider is no Finder.
	Find func(ctx context.Context, key string) (string, error)
	Once bool
}

// CallsOf forgets the types of a provider.
func CallsOf[D, S any](p Provider[D, S]) Calls {
	c := Calls{
		Observe: func(ctx context.Context, id string, desired any) (Observation[any], error) {
			d, _ := desired.(D) // the zero value of what is not declared any more
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

// KnownAs gives what is known its type back. An error says that the author asks for another one than
// the provider's.
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
