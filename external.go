package operon

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// Provisioner is a composer that also declares what should exist outside of the cluster: machines,
// buckets, accounts.
//
// Guarantees: what is declared is made once, also where the operator is killed at any point, or two
// of them overlap; it is deleted when it is no longer declared or its object is deleted, which a
// finalizer holds until then. Nothing is written and no child is touched while it is not known what
// is there.
//
// Assumptions: the provider keeps the contract of external.Provider, and the operator may patch the
// objects that it manages. The annotation operon.dev/external is nobody else's.
//
// Caveats: where the provider is no external.Finder, a crash in the middle of a creation is cleared up
// by a person, who is told how. Where it is no external.Once, an operator that is frozen for long in
// the very moment before it sends a creation may send it after another one did.
type Provisioner[T client.Object] = author.Provisioner[T]

// Provision collects the external resources that a composer declares.
type Provision = author.Provision

// Provided is a kind of external resources, to which Declare adds resources.
type Provided[D any] = author.Provided[D]

// Provide says how the external resources of a kind are reached. The kind is a word of the author's
// own, which is recorded: it must not change between versions of the operator. Resources that were
// declared before and are not declared on the result are deleted.
func Provide[D, S any](out *Provision, kind string, provider external.Provider[D, S], options ...external.KindOption) *Provided[D] {
	return author.Provide(out, kind, provider, options...)
}

// External returns what is known of the resources of a kind, ordered by name: for Compose, which may
// declare a Secret of their connection details, and for Observe. S is what their provider calls its
// state; another type is an error.
func External[S any](from author.Knowing, kind string) ([]external.Known[S], error) {
	return author.External[S](from, kind)
}
