package providers

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/operon-framework/operon/external"
)

// If a system fails only for one object, other objects can still use it. During an outage they cannot.
func TestAGateClosesForAllWhenTwoOwnersFail(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Unix(1e9, 0))
	g := (&gates{clock: clock}).of(Kind{Settings: external.Settings{System: "host", Every: time.Nanosecond, Burst: 1000}})
	poison, good, other := types.NamespacedName{Name: "poison"}, types.NamespacedName{Name: "good"}, types.NamespacedName{Name: "other"}
	call := func(owner types.NamespacedName, result error) (passed bool) {
		left, err := g.pass(t.Context(), owner)
		if err == nil {
			left(result)
		}
		return err == nil
	}
	away := errors.New("internal server error")
	call(poison, away)
	if call(poison, away) {
		t.Error("the owner that failed called again at once")
	}
	if !call(good, nil) || !call(good, nil) {
		t.Error("one owner's failure closed the gate for another")
	}
	if call(poison, away) {
		t.Error("another owner's success ended the wait of the one that failed")
	}
	if !call(other, away) {
		t.Error("one owner's failure closed the gate for a third")
	}
	if call(good, nil) || call(other, nil) {
		t.Error("the gate is open though two owners failed")
	}
	clock.Step(timing.lastBackoff)
	if !call(good, nil) || !call(poison, nil) || !call(other, nil) {
		t.Error("the system answers again, but the gate is closed")
	}
}
