package author

import (
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/runtime/providers"
)

// ExternalComposition collects the external resources that a composer declares.
type ExternalComposition struct {
	reading
	kinds    map[string]providers.Kind
	declared []providers.Declared
	err      error
	verdict
}

// NewExternalComposition returns the provision of an owner, whose composer reads through reads.
func NewExternalComposition(owner client.Object, reads Reads) *ExternalComposition {
	return &ExternalComposition{reading: reading{reads: reads, owner: owner}}
}

// Resources are what a composer declared outside of the cluster.
type Resources struct {
	Kinds    map[string]providers.Kind
	Declared []providers.Declared
	// Verdict: nothing is done while it is not done.
	Verdict
}

// DeclaredExternal returns what a composer declared. The error is an InvalidExternalError.
func DeclaredExternal(out *ExternalComposition) (Resources, error) {
	return Resources{out.kinds, out.declared, out.found}, out.err
}

// InvalidExternalError reports that what was declared cannot be.
type InvalidExternalError struct{ Err error }

func (e *InvalidExternalError) Error() string { return e.Err.Error() }

func (e *InvalidExternalError) Unwrap() error { return e.Err }

func (p *ExternalComposition) invalid(err error) {
	p.err = errors.Join(p.err, &InvalidExternalError{err})
}

// ExternalResources is a kind of external resources, to which resources are added.
type ExternalResources[D any] struct {
	out  *ExternalComposition
	kind string
}

// ExternalKind says how resources of a kind are reached. The kind is a word of the author's own, which is
// recorded: it must not change between versions. What was recorded and is not declared on the
// result is deleted.
func ExternalKind[D, S any](out *ExternalComposition, kind string, provider external.Provider[D, S], options ...external.KindOption) *ExternalResources[D] {
	settings, err := external.SettingsOf(kind, options...)
	if err != nil {
		out.invalid(err)
	}
	if _, twice := out.kinds[kind]; twice {
		out.invalid(fmt.Errorf("the external kind %q is declared twice", kind))
	}
	if out.kinds == nil {
		out.kinds = map[string]providers.Kind{}
	}
	out.kinds[kind] = providers.Kind{Name: kind, Calls: external.CallsOf(provider), Settings: settings}
	return &ExternalResources[D]{out, kind}
}

// Declare reports that a resource should exist. Its name tells it from others of its kind and object,
// and is recorded.
func (p *ExternalResources[D]) Declare(name string, desired D, options ...external.Option) {
	ref := external.Ref{Kind: p.kind, Name: name}
	if err := ref.Check(); err != nil {
		p.out.invalid(err)
		return
	}
	for _, other := range p.out.declared {
		if other.Ref == ref {
			p.out.invalid(fmt.Errorf("external resource %s is declared twice", ref))
			return
		}
	}
	declared := providers.Declared{Ref: ref, Desired: desired}
	for _, option := range options {
		option(&declared.Wish)
	}
	p.out.declared = append(p.out.declared, declared)
}

// ExternalReader is what tells of external resources: a Composition, and Observed.
type ExternalReader interface {
	known(kind string) []external.Known[any]
}

func (r *reading) known(kind string) []external.Known[any] { return r.outside[kind] }

// External returns what is known of the declared resources of a kind, ordered by name. S is what
// their provider calls its state; another type is an error.
func External[S any](from ExternalReader, kind string) ([]external.Known[S], error) {
	known, err := external.KnownAs[S](from.known(kind))
	if err != nil {
		return nil, fmt.Errorf("external kind %q: %w", kind, err)
	}
	return known, nil
}
