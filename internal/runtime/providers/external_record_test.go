package providers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// Unusable records stop everything, and the message states the remedy.
func TestExternalRecords(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper()
	w.Run(k)
	b := w.Box("one", map[string]string{"a": "small"})
	w.IsReady(b)
	record := b.Annotations[external.RecordAnnotation]
	for broken, text := range map[string]string{
		strings.Replace(record, `"version":1`, `"version":2`, 1): "run the version of the operator that wrote it",
		strings.Replace(record, string(b.UID), "another", 1):     "is that of another object",
	} {
		w.annotate(b, external.RecordAnnotation, broken)
		w.Ready(b, metav1.ConditionFalse, "ExternalRecord", text)
		w.annotate(b, external.RecordAnnotation, record)
		w.IsReady(b)
	}
	w.annotate(b, external.RecordAnnotation, "") // like kubectl replace
	w.Eventually("the record to be written again", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil || b.Annotations[external.RecordAnnotation] != record {
			return fmt.Errorf("it is %q, %v", b.Annotations[external.RecordAnnotation], err)
		}
		return nil
	})
	w.Must(k.holds(1, "small")(t.Context()))
}

// Two operators without leader election, with the same objects, create each external resource only once.
func TestExternalOverlap(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper(external.Limit(2*time.Second))
	w.Run(k)
	w.Run(k)
	var boxes []*boxtest.Box
	var sizes []string
	for i := range 5 {
		boxes = append(boxes, w.Box(fmt.Sprint("box-", i), map[string]string{fmt.Sprint("a", i): "small", fmt.Sprint("b", i): "small"}))
		sizes = append(sizes, "small", "small")
	}
	for _, b := range boxes {
		w.IsReady(b)
	}
	w.Must(k.holds(10, sizes...)(t.Context()))
}

// annotateAside sets an annotation of a Box during a reconcile, from a goroutine of the operator.
func (w *fixture) annotateAside(box, name, value string) {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, name, value))
	if err := w.Client.Patch(w.Context(), &boxtest.Box{ObjectMeta: w.Meta(box)}, patch); err != nil {
		w.Error(err)
	}
}

var cellA = external.Ref{Kind: "cell", Name: "a"}

// markOf returns the record of an operator that is about to create a cell, or was when it ended.
func (w *fixture) markOf(b *boxtest.Box) string {
	w.Helper()
	mark := external.Record{Owner: string(b.UID), Entries: map[external.Ref]external.Entry{cellA: {Token: "t", By: "another"}}}
	text, err := mark.Text()
	w.Must(err)
	return text
}

// If a system cannot be queried by key and the result of a creation is unknown, nothing is created until a person states the
// result. The statement is used once.
func TestExternalResolved(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper()
	k.keyless = true
	b := w.Box("one", map[string]string{"a": "small"})
	w.annotate(b, external.RecordAnnotation, w.markOf(b))
	w.Run(k)
	w.Ready(b, metav1.ConditionFalse, external.ReasonUnresolved, "set the annotation operon.dev/external-resolved to cell/a=ID, or to cell/a=none")
	w.Must(k.holds(0)(t.Context()))
	w.annotate(b, external.ResolvedAnnotation, "cell/a=none")
	w.IsReady(b)
	w.Must(k.holds(1, "small")(t.Context()))
	if said, left := b.Annotations[external.ResolvedAnnotation]; left {
		t.Errorf("it still says %q", said)
	}
}

// If another operator marks the same cell while this one queries whether it exists, this operator's mark is rejected. It
// creates nothing, and adopts the cell that the other operator creates.
func TestExternalMarkOfAnother(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper()
	b := w.Box("one", map[string]string{"a": "small"})
	mark := w.markOf(b)
	k.asking = sync.OnceFunc(func() { w.annotateAside("one", external.RecordAnnotation, mark) })
	w.Run(k)
	w.Ready(b, metav1.ConditionFalse, external.ReasonUncertain, "cell/a may be in creation")
	w.Must(k.holds(0)(t.Context()))
	k.set(func() { k.cells["theirs"] = cell{Size: "small", key: external.KeyOf(string(b.UID), cellA)} })
	w.Poke(b)
	w.IsReady(b)
	w.Must(k.holds(0, "small")(t.Context()))
	if !strings.Contains(b.Annotations[external.RecordAnnotation], `"id":"theirs"`) {
		t.Errorf("the record is %s", b.Annotations[external.RecordAnnotation])
	}
}

// Nothing is created before a mark of it is written and the object has a finalizer. If a client changes the object in the
// meantime, the reconcile that knows the ID still records it.
func TestExternalMarkBeforeMaking(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper()
	b := w.Box("one", map[string]string{"a": "small", "b": "small"})
	key := client.ObjectKeyFromObject(b)
	k.making = func() {
		now := &boxtest.Box{}
		if err := w.Client.Get(w.Context(), key, now); err != nil {
			w.Error(err)
		}
		if !controllerutil.ContainsFinalizer(now, reconcile.ExternalFinalizer) || strings.Count(now.Annotations[external.RecordAnnotation], `"token"`) != 2 {
			w.Errorf("when something is made the finalizers are %q, the record is %q", now.Finalizers, now.Annotations[external.RecordAnnotation])
		}
		w.annotateAside("one", "changed", now.ResourceVersion)
	}
	w.Run(k)
	w.IsReady(b)
	w.isReconciled(b, k)
	if k.visited(func(annotations map[string]string) bool {
		return strings.Contains(annotations[external.RecordAnnotation], `"token"`)
	}) {
		t.Error("a reconcile ended without having noted what it made")
	}
	w.Must(k.holds(2, "small", "small")(t.Context()))
}

// If the owner and its finalizers are removed during a creation, the ID of the new resource is logged and sent as an event: no record has it.
func TestExternalOwnerIsGoneDuringMaking(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper()
	w.Box("one", map[string]string{"a": "small"})
	k.making = func() {
		b, strip := &boxtest.Box{ObjectMeta: w.Meta("one")}, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := errors.Join(w.Client.Delete(w.Context(), b), w.Client.Patch(w.Context(), b, strip)); err != nil {
			w.Error(err)
		}
	}
	logged, how := boxtest.Logged(slog.LevelError)
	w.RunLogging(how, k)
	w.Event("ExternalCreated", "cell/a", "cell-1")
	line := `"msg":"an external resource was created for an object that is gone: delete the resource"`
	if all := logged.All(); !boxtest.HasAll(all, []string{line, `"resource":"cell/a"`, `"id":"cell-1"`}) {
		t.Errorf("logged is %s", all)
	}
	w.Must(k.holds(1, "small")(t.Context()))
}

// A tenant who writes the ID of another tenant's cell to a record can neither change, nor delete, nor read that cell.
func TestExternalForgedRecord(t *testing.T) {
	t.Parallel()
	w, k := newFixture(t), newKeeper()
	theirs := cell{Size: "theirs", key: external.KeyOf("tenant-b", cellA)}
	k.set(func() { k.cells["cell-of-b"] = theirs })
	for name, data := range map[string]map[string]string{"changing": {"a": "mine"}, "deleting": {}} {
		b := w.Box(name, data)
		w.annotate(b, external.RecordAnnotation, fmt.Sprintf(`{"version":1,"owner":%q,"resources":{"cell/a":{"id":"cell-of-b"}}}`, b.UID))
	}
	w.Run(k)
	for _, name := range []string{"changing", "deleting"} {
		b := &boxtest.Box{ObjectMeta: w.Meta(name)}
		w.Ready(b, metav1.ConditionFalse, external.ReasonForeign, "it is left alone")
		if strings.Contains(fmt.Sprint(b.Status.Seen), theirs.Size) {
			t.Errorf("%s was given %q", name, b.Status.Seen)
		}
		w.annotate(b, external.RecordAnnotation, "")
		w.IsReady(b)
	}
	k.set(func() {
		if k.cells["cell-of-b"] != theirs {
			t.Errorf("the other tenant's cell is %+v", k.cells["cell-of-b"])
		}
	})
}
