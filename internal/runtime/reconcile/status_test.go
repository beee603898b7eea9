package reconcile

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
)

// A status is not written if only the time zones of its times differ: those that were read have the local one.
func TestStatusIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	schedule := func(next time.Time) *v1alpha1.ActionSchedule {
		return &v1alpha1.ActionSchedule{Status: v1alpha1.ActionScheduleStatus{NextAt: new(metav1.NewTime(next))}}
	}
	content, err := json.Marshal(schedule(at))
	if err != nil {
		t.Fatal(err)
	}
	read := &v1alpha1.ActionSchedule{}
	if err := json.Unmarshal(content, read); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		next    time.Time
		changed bool
	}{{at, false}, {at.In(time.FixedZone("there", 3600)), false}, {at.Add(time.Second), true}} {
		o := &object[*v1alpha1.ActionSchedule]{before: read, now: schedule(test.next)}
		if got := o.statusChanged(); got != test.changed {
			t.Errorf("next %s after %s: changed is %t, want %t", test.next, read.Status.NextAt, got, test.changed)
		}
	}
}
