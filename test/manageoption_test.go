package operon_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

func TestManageMistakes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	nothing := boxtest.ComposeFunc(func(*boxtest.Box, *operon.Composition) error { return nil })
	tests := []struct {
		name  string
		parts []operon.Option
		want  string
	}{
		{"the same kind twice", []operon.Option{operon.Manage(nothing), operon.Manage(nothing)}, "Box: the operator manages it twice"},
		{"no concurrency", []operon.Option{operon.Manage(nothing, operon.Concurrency(0))}, "Concurrency(0): want 1 or more"},
		{"nothing", nil, "manages nothing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
			defer cancel()
			err := operon.Run(ctx, "mistaken", w.Config, operon.Config{}, append(test.parts, operon.API(boxtest.AddToScheme))...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// With a concurrency of two, the third object waits until one of the others is done.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var busy atomic.Int32
	release := make(chan struct{})
	w.Run(boxtest.ComposeFunc(func(*boxtest.Box, *operon.Composition) error {
		busy.Add(1)
		defer busy.Add(-1)
		<-release
		return nil
	}), operon.Concurrency(2))
	var boxes []*boxtest.Box
	for i := range 4 {
		boxes = append(boxes, w.Box(fmt.Sprintf("one-of-%d", i), nil))
	}
	both := func(context.Context) error {
		if got := busy.Load(); got != 2 {
			return fmt.Errorf("%d objects are being reconciled, want 2", got)
		}
		return nil
	}
	w.Eventually("two reconciles", both)
	localtest.Always(t, boxtest.Stillness, "no third reconcile", both)
	close(release)
	for _, b := range boxes {
		w.IsReady(b)
	}
}

func TestApplySetsMarkEveryObject(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(boxtest.Copies), operon.ApplySets())
	b := w.Box("set-by-option", nil)
	w.IsReady(b)
	if b.Labels["applyset.kubernetes.io/id"] == "" {
		t.Errorf("the object is no ApplySet: labels %v", b.Labels)
	}
}
