package author

import (
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/runtime/providers"
)

// Provision collects the external resources that a composer declares.
type Provision struct {
	reading
	kinds    map[string]providers.Kind
	declared []providers.Declared
	waits    []outcome.Outcome
	err      error
}

// NewProvision returns the provision of an owner, whose composer reads through reads.
func NewProvision(owner client.Object, reads Reads) *Provision {
	return &Provision{reading: reading{reads: reads, owner: owner}}
}

// Resources are what a composer declared outside of the cluster.
type Resources struct {
	Kinds    map[string]providers.Kind
	Declared []providers.Declared
	// Waits are what the composer waits for; nothing is done meanwhile.
	Waits []outcome.Outcome
}

// Provisioned returns what a composer declared. The error is an InvalidExternalError.
func Provisioned(out *Provision) (Resources, error) {
	return Resources{out.kinds, out.declared, out.waits}, out.err
}

// Wait says that the composer cannot yet say how to reach what is outside, such as for want of
// credentials. reason is one CamelCase word and message a sentence, for the Ready condition. Nothing is
// done for the object meanwhile.
func (p *Provision) Wait(reason, message string) {
	p.waits = append(p.waits, outcome.Wait(reason, message))
}

// InvalidExternalError says that what was declared cannot be.
type InvalidExternalError struct{ Err error }

func (e *InvalidExternalError) Error() string { return e.Err.Error() }

func (e *InvalidExternalError) Unwrap() error { return e.Err }

func (p *Provision) invalid(err error) {
	p.err = errors.Join(p.err, &InvalidExternalError{err})
}

// Provided is a kind of external resources, to which resources are added.
type Provided[D any] struct {
	out  *Provision
	kind string
}

// Provide says how resources of a kind are reached. The kind is a word of the author's own, which is
// recorded: it must not change between versions. What was recorded and is not declared on the
// result is deleted.
func Provide[D, S any](out *Provision, kind string, provider external.Provider[D, S], options ...external.KindOption) *Provided[D] {
	settings, err := external.SettingsOf(kind, options...)
	if err != nil {
		out.invalid(err)
	}
	if _, twice := out.kinds[kind]; twice {
		out.invalid(fmt.Errorf("the external kind %q is provided twice", kind))
	}
	if out.kinds == nil {
		out.kinds = map[string]providers.Kind{}
	}
	out.kinds[kind] = providers.Kind{Name: kind, Calls: external.CallsOf(provider), Settings: settings}
	return &Provided[D]{out, kind}
}

// Declare says that a resource should exist. Its name tells it from others of its kind and object,
// and is recorded.
func (p *Provided[D]) Declare(name string, desired D, options ...external.Option) {
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

// Knowing is what tells of external resources: a Composition, and Observed.
type Knowing interface {
	known(kind string) []external.Known[any]
}

func (r *reading) known(kind string) []external.Known[any] { return r.outside[kind] }

// External returns what is known of the declared resources of a kind, ordered by name. S is what
// their provider calls its state; another type is an error.
func External[S any](from Knowing, kind string) ([]external.Known[S], error) {
	known, err := external.KnownAs[S](from.known(kind))
	if err != nil {
		return nil, fmt.Errorf("external kind %q: %w", kind, err)
	}
	return known, nil
}
