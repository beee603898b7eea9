package reconcile

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestMessagesAreHeldBackForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pending
		key := types.NamespacedName{Name: "a"}
		if left := p.hold(key, true); left != messagePeriod {
			t.Errorf("the first message waits %s, want %s", left, messagePeriod)
		}
		time.Sleep(messagePeriod / 2)
		if left := p.hold(key, true); left != messagePeriod/2 {
			t.Errorf("the second message waits %s, want what is left of the first one's time", left)
		}
		if left := p.hold(types.NamespacedName{Name: "b"}, true); left != messagePeriod {
			t.Errorf("another object waits %s", left)
		}
		if left := p.hold(key, false); left != 0 {
			t.Errorf("other news wait %s", left)
		}
		if left := p.hold(key, true); left != messagePeriod {
			t.Errorf("after a write the next message waits %s", left)
		}
		time.Sleep(messagePeriod)
		if left := p.hold(key, true); left != 0 {
			t.Errorf("a message that waited its time waits %s more", left)
		}
	})
}
