package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Attributes of spans.
const (
	attrKind      = attribute.Key("operon.kind")
	attrNamespace = attribute.Key("k8s.namespace.name")
	attrName      = attribute.Key("operon.name")
	attrCauses    = attribute.Key("operon.causes")
	attrOutcome   = attribute.Key("operon.outcome")
	attrReason    = attribute.Key("operon.reason")
)

// Tracer creates spans. A nil Tracer creates none.
type Tracer struct{ tracer trace.Tracer }

// NewTracer returns a tracer of a provider, or nil if there is no provider.
func NewTracer(provider trace.TracerProvider) *Tracer {
	if provider == nil {
		return nil
	}
	return &Tracer{provider.Tracer("github.com/operon-framework/operon")}
}

// Span is a started span. The zero value is no span.
type Span struct{ span trace.Span }

// Reconcile starts the span of a reconcile, and with it a trace.
func (t *Tracer) Reconcile(ctx context.Context, kind, namespace, name string, causes []string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, "reconcile "+kind, trace.WithAttributes(
		attrKind.String(kind), attrNamespace.String(namespace), attrName.String(name), attrCauses.StringSlice(causes)))
	return ctx, Span{span}
}

// Step starts the span of a step.
func (t *Tracer) Step(ctx context.Context, name string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, name)
	return ctx, Span{span}
}

// End ends a span with the result of the operation.
func (s Span) End(outcome, reason string, err error) {
	if s.span == nil {
		return
	}
	s.span.SetAttributes(attrOutcome.String(outcome))
	if reason != "" {
		s.span.SetAttributes(attrReason.String(reason))
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}
