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

// NewExternalComposition returns the external composition of an owner whose composer reads through reads.
func NewExternalComposition(owner client.Object, reads Reads) *ExternalComposition {
	return &ExternalComposition{reading: reading{reads: reads, owner: owner}}
}

// Resources are the external resources that a composer declared.
type Resources struct {
	Kinds    map[string]providers.Kind
	Declared []providers.Declared
	// Verdict of the composer: while it is not done, nothing is done.
	Verdict
}

// DeclaredExternal returns what a composer declared. The error is an InvalidExternalError.
func DeclaredExternal(out *ExternalComposition) (Resources, error) {
	return Resources{out.kinds, out.declared, out.found}, out.err
}

// InvalidExternalError reports invalid declarations.
type InvalidExternalError struct{ Err error }

func (e *InvalidExternalError) Error() string { return e.Err.Error() }

func (e *InvalidExternalError) Unwrap() error { return e.Err }

func (p *ExternalComposition) invalid(err error) {
	p.err = errors.Join(p.err, &InvalidExternalError{err})
}

// ExternalResources collects the resources of one external kind.
type ExternalResources[D any] struct {
	out  *ExternalComposition
	kind string
}

// ExternalKind defines how resources of a kind are accessed. The author chooses the name of the kind. It is recorded and must
// not change between versions. A recorded resource that is not declared on the result is deleted.
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

// Declare declares that a resource should exist. Its name, which is recorded, distinguishes it from others of its kind and
// object.
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

// ExternalReader returns known external resources. Composition and Observed implement it.
type ExternalReader interface {
	known(kind string) []external.Known[any]
}

func (r *reading) known(kind string) []external.Known[any] { return r.outside[kind] }

// External returns the known state of the declared resources of a kind, ordered by name. S is the type that their provider
// uses for the state; any other type is an error.
func External[S any](from ExternalReader, kind string) ([]external.Known[S], error) {
	known, err := external.KnownAs[S](from.known(kind))
	if err != nil {
		return nil, fmt.Errorf("external kind %q: %w", kind, err)
	}
	return known, nil
}
