package telemetry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// A trace consists of a reconcile, its steps, and their requests.
func TestReconcilesAreTraced(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	w.RunLogging(operon.Config{TracerProvider: provider}, boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		if b.Name == "broken" {
			return fmt.Errorf("out of order")
		}
		return boxtest.Copies(b, out)
	}))
	w.IsReady(w.Box("traced", map[string]string{"a": "1"}))
	w.Ready(w.Box("broken", nil), metav1.ConditionFalse, "ReconcileFailed", "")

	w.Eventually("the spans of a creation", func(context.Context) error {
		all := spans.GetSpans()
		root := slices.IndexFunc(all, func(s tracetest.SpanStub) bool { return isPass(s, "traced", "done") })
		if root < 0 {
			return fmt.Errorf("no pass among %q", names(all))
		}
		apply, ok := childOf(all, all[root], "apply")
		if !ok {
			return fmt.Errorf("no step apply among %q", names(all))
		}
		request, ok := childOf(all, apply, "PATCH configmaps")
		if !ok || attr(request, "http.response.status_code") != "201" {
			return fmt.Errorf("no request among %q: %v", names(all), request.Attributes)
		}
		return nil
	})
	w.Eventually("the spans of a failure", func(context.Context) error {
		all := spans.GetSpans()
		for _, s := range all {
			if isPass(s, "broken", "retry") && s.Status.Code == codes.Error && strings.Contains(s.Status.Description, "out of order") {
				return nil
			}
		}
		return fmt.Errorf("none among %q", names(all))
	})
	for _, s := range spans.GetSpans() {
		if strings.Contains(s.Name, "traced") {
			t.Errorf("the span %q has an object's name", s.Name)
		}
	}
}

// isPass reports whether a span is the first reconcile of an object. The watch may show the object before or after the operator
// has started.
func isPass(s tracetest.SpanStub, name, outcome string) bool {
	causes := attr(s, "operon.causes")
	return s.Name == "reconcile Box" && attr(s, "operon.name") == name && attr(s, "operon.outcome") == outcome &&
		(strings.Contains(causes, "created") || strings.Contains(causes, "the operator started"))
}

func attr(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if string(a.Key) == key {
			return a.Value.Emit()
		}
	}
	return ""
}

func childOf(all []tracetest.SpanStub, parent tracetest.SpanStub, name string) (tracetest.SpanStub, bool) {
	i := slices.IndexFunc(all, func(s tracetest.SpanStub) bool {
		return s.Name == name && s.Parent.SpanID() == parent.SpanContext.SpanID()
	})
	if i < 0 {
		return tracetest.SpanStub{}, false
	}
	return all[i], true
}

func names(all []tracetest.SpanStub) []string {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

func TestMainExportsSpansAsTheEnvironmentSays(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	received := make(chan string, 1000)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var traces tracepb.TracesData
		if err := proto.Unmarshal(data, &traces); err != nil {
			return
		}
		for _, group := range traces.ResourceSpans {
			for _, span := range group.ScopeSpans[0].Spans {
				received <- span.Name
			}
		}
	}))
	defer collector.Close()
	stop := w.StartMain([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}, "--health-probe-bind-address=0")
	w.IsReady(w.Box("traced", map[string]string{"a": "1"}))
	stop()            // sends the remaining spans
	collector.Close() // waits for the requests that are being sent
	close(received)
	got := map[string]bool{}
	for name := range received {
		got[name] = true
	}
	for _, want := range []string{"reconcile Box", "apply", "PATCH configmaps", "PATCH boxes/status"} {
		if !got[want] {
			t.Errorf("no span %q among %v", want, got)
		}
	}
}
