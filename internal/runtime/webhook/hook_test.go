package webhook_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/operon-framework/operon/internal/runtime/webhook"
	"github.com/operon-framework/operon/internal/testing/box"
)

// Rules do not block a deletion, but no spec bypasses them.
func TestASpecIsValidatedAlsoWhileItsObjectIsDeleted(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	old := &box.Box{ObjectMeta: metav1.ObjectMeta{Name: "a", DeletionTimestamp: &now, Finalizers: []string{"a/b"}}}
	old.Spec.Data = map[string]string{"a": "1"}
	released, changed := old.DeepCopyObject().(*box.Box), old.DeepCopyObject().(*box.Box)
	released.Finalizers = nil
	changed.Spec.Data = map[string]string{"a": "2"}
	for object, want := range map[*box.Box]bool{released: true, changed: false} {
		if allowed := webhook.AllowsUpdate(t, refuses, old, object); allowed != want {
			t.Errorf("%v: allowed: %t, want %t", object.Spec.Data, allowed, want)
		}
	}
}

// refuses rejects all objects.
func refuses(context.Context, *box.Box, *webhook.Admission[*box.Box]) field.ErrorList {
	return field.ErrorList{field.Forbidden(field.NewPath("spec"), "never")}
}

func TestTimeoutsAreWholeSeconds(t *testing.T) {
	t.Parallel()
	for timeout, fits := range map[time.Duration]bool{
		0: true, time.Second: true, 30 * time.Second: true,
		time.Millisecond: false, 31 * time.Second: false, 1500 * time.Millisecond: false, -time.Second: false,
	} {
		if err := (webhook.Options{Timeout: timeout}).Check(); (err == nil) != fits {
			t.Errorf("%s: %v", timeout, err)
		}
	}
}
