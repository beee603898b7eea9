package operon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/operon-framework/operon/internal/runtime/telemetry"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/internal/runtime/reconcile"
)

// filtered is a handler that lets only some records pass.
type filtered struct {
	slog.Handler
	least   slog.Level
	without string // a message
}

func (f filtered) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= f.least && f.Handler.Enabled(ctx, level)
}

func (f filtered) Handle(ctx context.Context, record slog.Record) error {
	if record.Message == f.without {
		return nil
	}
	return f.Handler.Handle(ctx, record)
}

func (f filtered) WithAttrs(attrs []slog.Attr) slog.Handler {
	f.Handler = f.Handler.WithAttrs(attrs)
	return f
}

func (f filtered) WithGroup(name string) slog.Handler {
	f.Handler = f.Handler.WithGroup(name)
	return f
}

// quiet is a logger for the machinery underneath, which has much to say on its way that is
// of interest only in debugging.
func quiet(log *slog.Logger) *slog.Logger {
	if log.Enabled(context.Background(), slog.LevelDebug) {
		return log
	}
	return slog.New(filtered{Handler: log.Handler(), least: slog.LevelWarn})
}

// giveLogger makes controller-runtime's global logger ours, which it would otherwise
// complain about after half a minute. A program that has set one before keeps it.
var giveLogger = func() func(logr.Logger) {
	var once sync.Once
	return func(log logr.Logger) { once.Do(func() { ctrl.SetLogger(log) }) }
}()

// loggers returns what reconciles log to, and what controller-runtime does.
func (cfg *Config) loggers() (own, machinery logr.Logger) {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	// Operon logs a failed reconcile itself, once for each change of the error instead of once for each retry.
	told := filtered{Handler: log.Handler(), least: slog.LevelDebug, without: "Reconciler error"}
	return logr.FromSlogHandler(told), logr.FromSlogHandler(quiet(log).Handler())
}

// logOf is the logger of one kind's controller, which asks without a request for lines of
// its own.
func (o *operator) logOf(kind string) func(*reconcile.Request) logr.Logger {
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return o.manager.GetLogger().WithValues("kind", kind)
		}
		return o.log.WithValues("kind", kind, "namespace", request.Namespace, "name", request.Name)
	}
}

// flushTime is how long the end of an operator may wait for a receiver of spans.
const flushTime = 5 * time.Second

// withTraces runs with what the environment says of traces, and sends at the end what is
// left. A collector that cannot be reached is logged, and nothing else.
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
