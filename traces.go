package operon

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/operon-framework/operon/internal/runtime/telemetry"
)

// flushTime is how long the end of an operator may wait for a receiver of spans.
const flushTime = 5 * time.Second

// withTraces runs with what the environment says of traces, and sends at the end what is
// left. A receiver that is not there is told in the log and stops nothing.
func withTraces(ctx context.Context, name string, log *slog.Logger, run func(trace.TracerProvider) error) error {
	traces, err := telemetry.FromEnvironment(ctx, name)
	if err != nil {
		return err
	}
	if traces == nil {
		return run(nil)
	}
	failed := func(err error) { log.Warn("spans are lost", "err", err) }
	otel.SetErrorHandler(otel.ErrorHandlerFunc(failed))
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
		defer cancel()
		if err := traces.Shutdown(ctx); err != nil {
			failed(err)
		}
	}()
	return run(traces)
}
