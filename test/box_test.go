package operon_test

import (
	"context"

	"github.com/operon-framework/operon"
	kind "github.com/operon-framework/operon/internal/testing/box"
)

// The kind that the operators of the tests manage.
type (
	Box       = kind.Box
	BoxSpec   = kind.BoxSpec
	BoxStatus = kind.BoxStatus
	BoxList   = kind.BoxList
)

var addBox = kind.AddToScheme

// compose is a composer that consists of a function.
type compose func(*Box, *operon.Composition) error

func (c compose) Compose(_ context.Context, b *Box, out *operon.Composition) error { return c(b, out) }

// observing is a composer that also observes.
type observing struct {
	compose
	observe func(context.Context, *Box, *operon.Observed) error
}

func (o observing) Observe(ctx context.Context, b *Box, seen *operon.Observed) error {
	return o.observe(ctx, b, seen)
}
