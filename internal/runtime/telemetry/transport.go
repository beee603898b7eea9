package telemetry

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Wrap creates a span for each request that a reconcile sends, for rest.Config.Wrap, and propagates
// the trace to the API server. Requests outside of reconciles, such as requests of watches and
// leases, would each be a separate trace and are left out.
func (t *Tracer) Wrap(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return &transport{next, t.tracer}
}

type transport struct {
	next   http.RoundTripper
	tracer trace.Tracer
}

// WrappedRoundTripper gives client-go access to the underlying transport.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip sends a request without changing it.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !trace.SpanContextFromContext(request.Context()).IsValid() {
		return t.next.RoundTrip(request)
	}
	ctx, span := t.tracer.Start(request.Context(), request.Method+" "+resourceOf(request.URL.Path),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("http.request.method", request.Method),
			attribute.String("url.path", request.URL.Path),
			attribute.String("server.address", request.URL.Host)))
	defer span.End()
	request = request.Clone(ctx)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header))
	response, err := t.next.RoundTrip(request)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
		return nil, err
	}
	span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	if response.StatusCode >= http.StatusBadRequest {
		span.SetStatus(codes.Error, response.Status)
	}
	return response, nil
}

// resourceOf returns the resource in a path of the Kubernetes API, with its subresource, such as
// deployments/status. Names of spans must not contain names of objects.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:] // api, version
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:] // apis, group, version
	default:
		return "api"
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) > 2 {
		return parts[0] + "/" + parts[2]
	}
	return parts[0]
}
