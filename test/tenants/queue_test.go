package tenants_test

import (
	"fmt"
	"testing"

	"github.com/operon-framework/operon/internal/testing/box"
)

// A hostile tenant creates dozens of Boxes that take long to reconcile. The change of the victim's Box waits for at most two of
// them for each of the eight workers.
func TestABacklogDelaysNoOtherTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.calm()
	var slow []*box.Box
	for i := range 30 {
		slow = append(slow, w.create(w.a, fmt.Sprint("slow-", i), map[string]string{slowField: "1"}))
	}
	w.isQuiet() // all workers are waiting for turns
	w.change(w.b, w.b.box, func() { w.b.box.Spec.Data["text"] = "changed" })
	w.isQuiet() // it is queued
	const round = 8
	for range 2 * round {
		w.turn()
	}
	w.isReady(w.b.box)
	w.free()
	for _, b := range slow {
		w.isReady(b)
	}
}

// turn makes the operator compose one slow Box.
func (w *world) turn() {
	w.Helper()
	select {
	case <-w.Context().Done():
		w.Fatal("no Box is slow")
	case w.turns <- struct{}{}:
	}
}
