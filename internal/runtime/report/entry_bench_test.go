package report_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/queue"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/runtime/report"
	"github.com/operon-framework/operon/internal/runtime/telemetry"
)

// The benchmark measures the cost of explaining a reconcile: its trigger, the record of its steps, metrics and,
// because history is on, its place there. Tracing and debug log lines are off.
func BenchmarkKnowingWhy(b *testing.B) {
	var triggers queue.Triggers
	var tracer *telemetry.Tracer
	history := reconcilelog.NewStore(reconcilelog.Operator{})
	key := types.NamespacedName{Namespace: "default", Name: "a"}
	id := plan.ID{GroupKind: schema.GroupKind{Kind: "Box"}, Namespace: key.Namespace, Name: key.Name}
	b.ReportAllocs()
	for b.Loop() {
		triggers.Add(key, trigger.Cause{Kind: trigger.ChildChanged, Object: trigger.Object{Kind: "Deployment", Name: "a"}, At: time.Now()})
		ctx, entry := report.Begin(b.Context(), tracer, id, triggers.Take(key, time.Now()), time.Now())
		for range 15 {
			_, span := tracer.Step(ctx, "step")
			entry.Step("step", time.Millisecond, outcome.Done())
			span.End("done", "", nil)
		}
		entry.Close("done", outcome.Done(), 1, nil)
		history.Add(id.GroupKind, key.Namespace, key.Name, entry.Pass)
	}
}
