package reconcile

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
)

// What it costs a reconcile to know why: its cause, the record of its steps, metrics and, as
// history is on, its place there. Tracing and debug lines are off.
func BenchmarkKnowingWhy(b *testing.B) {
	r := &Reconciler[client.Object]{Config: Config[client.Object]{Clock: clock.RealClock{}, History: reconcilelog.NewStore(reconcilelog.Operator{})}}
	key := types.NamespacedName{Namespace: "default", Name: "a"}
	b.ReportAllocs()
	for b.Loop() {
		r.causes.add(key, trigger.Cause{Kind: trigger.ChildChanged, Object: trigger.Object{Kind: "Deployment", Name: "a"}, At: time.Now()})
		p := &pass[client.Object]{request: Request{NamespacedName: key}, began: time.Now(), over: true}
		p.record = reconcilelog.Pass{Steps: make([]reconcilelog.Step, 0, stepCount), Gathered: r.causes.take(key, time.Now())}
		r.stepped(p, "fetch", time.Millisecond, outcome.Done())
		for range 10 {
			_, span := r.Tracer.Step(b.Context(), "step")
			r.stepped(p, "fetch", time.Millisecond, outcome.Done())
			span.End("done", "", nil)
		}
		p.record.Steps = p.record.Steps[:1] // the object is gone: nothing to read of it
		if _, err := r.end(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
}
