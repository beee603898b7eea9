package boxtest

import (
	"context"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	kind "github.com/operon-framework/operon/internal/testing/box"
)

// The kind that the operators of the tests manage.
type (
	Box       = kind.Box
	BoxSpec   = kind.BoxSpec
	BoxStatus = kind.BoxStatus
	BoxList   = kind.BoxList
)

// AddToScheme registers the kind Box.
var AddToScheme = kind.AddToScheme

// ComposeFunc is a composer that consists of a function.
type ComposeFunc func(*Box, *operon.Composition) error

// Compose implements operon.Composer.
func (c ComposeFunc) Compose(_ context.Context, b *Box, out *operon.Composition) error {
	return c(b, out)
}

// Observing is a composer that also observes.
type Observing struct {
	ComposeFunc
	Observer func(context.Context, *Box, *operon.Observed) error
}

// Observe implements operon.Observer.
func (o Observing) Observe(ctx context.Context, b *Box, seen *operon.Observed) error {
	return o.Observer(ctx, b, seen)
}

// ComposeContextFunc is a composer that receives the context.
type ComposeContextFunc func(context.Context, *Box, *operon.Composition) error

// Compose implements operon.Composer.
func (c ComposeContextFunc) Compose(ctx context.Context, b *Box, out *operon.Composition) error {
	return c(ctx, b, out)
}

// Workflow is a composer that consists of functions, and has a workflow.
type Workflow struct {
	ComposeFunc
	Work func(context.Context, *Box, *durable.Run) error
}

// RunWorkflow implements operon.WorkflowRunner.
func (w Workflow) RunWorkflow(ctx context.Context, b *Box, run *durable.Run) error {
	return w.Work(ctx, b, run)
}

// Nothing composes no children.
func Nothing(*Box, *operon.Composition) error { return nil }
