package reconcile_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// A condition that another controller writes during a reconcile is kept, although a merge patch replaces the list of conditions, and the
// reconcile does not run again for it.
func TestConditionsOfOthersAreKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var once sync.Once
	w.Run(boxtest.ComposeContextFunc(func(ctx context.Context, b *boxtest.Box, _ *operon.Composition) (err error) {
		if b.Spec.Data["theirs"] == "yes" {
			once.Do(func() {
				now := b.DeepCopyObject().(*boxtest.Box)
				meta.SetStatusCondition(&now.Status.Conditions, metav1.Condition{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "Added", Message: "m"})
				err = w.Client.Status().Update(ctx, now)
			})
		}
		return err
	}))
	b := w.Box("shared", nil)
	w.IsReady(b)
	w.Change(b, func() { b.Spec.Data = map[string]string{"theirs": "yes"} })
	w.IsReady(b)
	if !meta.IsStatusConditionTrue(b.Status.Conditions, "Theirs") {
		t.Errorf("the conditions are %v", b.Status.Conditions)
	}
}

// The report about an object is not written to the next object of its name.
func TestAnObjectIsNotReportedAsItsPredecessor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var second atomic.Pointer[boxtest.Box]
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.Run(boxtest.ComposeContextFunc(func(ctx context.Context, b *boxtest.Box, _ *operon.Composition) error {
		next := second.Load()
		switch {
		case next == nil && b.Spec.Data["replaced"] == "yes":
			next = &boxtest.Box{ObjectMeta: w.Meta(b.Name)}
			second.Store(next)
			return errors.Join(w.Client.Delete(ctx, b.DeepCopyObject().(*boxtest.Box)), w.Client.Create(ctx, next))
		case next != nil && b.UID == next.UID:
			once.Do(func() { close(begun) })
			<-release
		}
		return nil
	}))
	b := w.Box("again", nil)
	w.IsReady(b)
	w.Change(b, func() { b.Spec.Data = map[string]string{"replaced": "yes"} })
	<-begun
	now := &boxtest.Box{}
	err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(b), now)
	close(release)
	w.Must(err)
	if now.UID == b.UID || len(now.Status.Conditions) > 0 {
		t.Errorf("before its first reconcile, it has the status %+v", now.Status)
	}
	w.IsReady(b)
}
