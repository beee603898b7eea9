package operon_test

import (
	"context"
	"log/slog"
	"os"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
)

// An operator that tells what it does: a log line for each reconcile with its causes, spans to
// an exporter of one's own choice, and the last reconciles of each object at
// http://127.0.0.1:8081/debug/operon. operon.Main does all of it by flags and environment.
func ExampleConfig() {
	run := func(ctx context.Context, cluster *rest.Config, exporter sdktrace.SpanExporter) error {
		spans := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
		defer func() { _ = spans.Shutdown(context.WithoutCancel(ctx)) }()
		return operon.Run(ctx, "box-operator", cluster, operon.Config{
			Log:                    slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
			TracerProvider:         spans,
			MetricsBindAddress:     "127.0.0.1:8080",
			HealthProbeBindAddress: "127.0.0.1:8081",
		}, operon.API(addBox), operon.Manage(compose(copies)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // the example ends as soon as it has begun
	if err := run(ctx, &rest.Config{Host: "127.0.0.1:1"}, tracetest.NewInMemoryExporter()); err != nil {
		panic(err)
	}
}
