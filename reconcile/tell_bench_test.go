package reconcile

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/cause"
	"github.com/operon-framework/operon/history"
	"github.com/operon-framework/operon/outcome"
)

// What it costs a reconcile to know why: its cause, the record of its steps, metrics and, as
// history is on, its place there. Tracing and debug lines are off.
func BenchmarkKnowingWhy(b *testing.B) {
	r := &Reconciler[client.Object]{Config: Config[client.Object]{Clock: clock.RealClock{}, History: history.NewStore(history.Operator{})}}
	key := types.NamespacedName{Namespace: "default", Name: "a"}
	b.ReportAllocs()
	for b.Loop() {
		r.causes.add(key, cause.Cause{Kind: cause.ChildChanged, Object: cause.Object{Kind: "Deployment", Name: "a"}, At: time.Now()})
		p := &pass[client.Object]{request: Request{NamespacedName: key}, began: time.Now(), over: true}
		p.record = history.Pass{Steps: make([]history.Step, 0, stepCount), Gathered: r.causes.take(key, time.Now())}
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
