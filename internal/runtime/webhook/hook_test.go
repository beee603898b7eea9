package webhook_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/operon-framework/operon/internal/runtime/webhook"
	"github.com/operon-framework/operon/internal/testing/box"
)

type (
	defaultsTooMuch  struct{}
	validatesStrings struct{}
	deletesWithout   struct{}
	unrelated        struct{}
)

func (defaultsTooMuch) Default(context.Context, *box.Box) (bool, error) { return false, nil }
func (validatesStrings) Validate(string) error                          { return errors.New("unused") }
func (deletesWithout) ValidateDeletion(context.Context, *box.Box) error { return nil }
func (unrelated) Something()                                            {}
func (unrelated) Default(context.Context, *box.Box) error               { return nil }
func (unrelated) Validate(context.Context, *box.Box, *webhook.Admission[*box.Box]) field.ErrorList {
	return nil
}

// A method that would never be called is an error that says how it has to look.
func TestMisfits(t *testing.T) {
	t.Parallel()
	for composer, want := range map[any]string{
		defaultsTooMuch{}:  "want Default(context.Context, *box.Box) error",
		validatesStrings{}: "want Validate(context.Context, *box.Box, *operon.Admission[*box.Box]) field.ErrorList",
		deletesWithout{}:   "want ValidateDeletion(context.Context, *box.Box, *operon.Admission[*box.Box]) error",
		unrelated{}:        "",
		rules{}:            "",
	} {
		got := webhook.Misfit[*box.Box](composer)
		if !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%T: %q, want %q", composer, got, want)
		}
	}
}

// A deletion is not held up by rules, but no spec passes them by.
func TestASpecIsValidatedAlsoWhileItsObjectIsDeleted(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	old := &box.Box{ObjectMeta: metav1.ObjectMeta{Name: "a", DeletionTimestamp: &now, Finalizers: []string{"a/b"}}}
	old.Spec.Data = map[string]string{"a": "1"}
	released, changed := old.DeepCopyObject().(*box.Box), old.DeepCopyObject().(*box.Box)
	released.Finalizers = nil
	changed.Spec.Data = map[string]string{"a": "2"}
	for object, want := range map[*box.Box]bool{released: true, changed: false} {
		if allowed := webhook.AllowsUpdate(t, refuses{}, old, object); allowed != want {
			t.Errorf("%v: allowed: %t, want %t", object.Spec.Data, allowed, want)
		}
	}
}

// refuses refuses all objects.
type refuses struct{}

func (refuses) Validate(context.Context, *box.Box, *webhook.Admission[*box.Box]) field.ErrorList {
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
