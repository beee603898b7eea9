package webhook

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/runtime/migrate"
)

// API servers learn of a conversion some time after it was written. Objects that they return in the meantime are not
// converted, which matters if objects are stored in another version than the operator's.
func TestConversionSettles(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	service, address := place{}, place{address: "127.0.0.1:9443"}
	for name, test := range map[string]struct {
		definition definition
		stored     []any
		changed    time.Duration // before now
		want       time.Duration // from now on
	}{
		"nothing is to be converted":        {definition{reads: "v1", unconverted: true}, []any{"v1"}, 0, 0},
		"this process began to convert":     {definition{reads: "v1", unconverted: true, place: address}, []any{"v1beta1", "v1"}, 0, migrate.Settle},
		"it did so a moment ago":            {definition{reads: "v1", unconverted: true, seen: now.Add(-2 * time.Second)}, []any{"v1beta1"}, 0, migrate.Settle - 2*time.Second},
		"it started again":                  {definition{reads: "v1", place: address}, []any{"v1beta1", "v1"}, 0, 0},
		"another replica may have begun to": {definition{reads: "v1", place: service}, []any{"v1beta1", "v1"}, time.Second, migrate.Settle},
		"it did so long ago":                {definition{reads: "v1", place: service}, []any{"v1beta1", "v1"}, 2 * time.Hour, 0},
		"this one's clock may be ahead":     {definition{reads: "v1", place: service}, []any{"v1beta1"}, 2 * migrate.Settle, migrate.Settle},
		"its clock is ahead":                {definition{reads: "v1", place: service}, []any{"v1beta1"}, -time.Minute, migrate.Settle},
	} {
		live := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"storedVersions": test.stored}}}
		live.SetCreationTimestamp(metav1.NewTime(now.Add(-24 * time.Hour)))
		live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "other", Time: new(metav1.NewTime(now.Add(-test.changed)))}})
		if got := test.definition.settled(live, now).Sub(now); got != test.want {
			t.Errorf("%s: it is settled after %s, want %s", name, got, test.want)
		}
	}
}
