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

// filtered is a handler that drops some records.
type filtered struct {
	slog.Handler
	least   slog.Level
	without string // the message of records to drop
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

// quiet returns a logger for controller-runtime, whose verbose messages are only useful for debugging.
func quiet(log *slog.Logger) *slog.Logger {
	if log.Enabled(context.Background(), slog.LevelDebug) {
		return log
	}
	return slog.New(filtered{Handler: log.Handler(), least: slog.LevelWarn})
}

// giveLogger sets controller-runtime's global logger. Otherwise controller-runtime logs a warning after half a minute.
// A logger that the program has already set is kept.
var giveLogger = func() func(logr.Logger) {
	var once sync.Once
	return func(log logr.Logger) { once.Do(func() { ctrl.SetLogger(log) }) }
}()

// loggers returns the loggers for reconciles and for controller-runtime.
func (cfg *Config) loggers() (own, machinery logr.Logger) {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	// Operon logs a failed reconcile itself, once for each change of the error instead of once for each retry.
	told := filtered{Handler: log.Handler(), least: slog.LevelDebug, without: "Reconciler error"}
	return logr.FromSlogHandler(told), logr.FromSlogHandler(quiet(log).Handler())
}

// logOf returns the logger of one kind's controller. The request is nil for the controller's own log lines.
func (o *operator) logOf(kind string) func(*reconcile.Request) logr.Logger {
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return o.manager.GetLogger().WithValues("kind", kind)
		}
		return o.log.WithValues("kind", kind, "namespace", request.Namespace, "name", request.Name)
	}
}

// flushTime is the maximum time for sending the remaining spans when the operator ends.
const flushTime = 5 * time.Second

// withTraces calls run with the trace provider that the environment configures, and sends the remaining spans at the
// end. If the collector is unreachable, this is only logged.
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
