package reconcile

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestMessagesAreHeldBackForAMoment(t *testing.T) {
	t.Parallel()
	var p pending
	key, now := types.NamespacedName{Name: "a"}, time.Unix(1_000_000, 0)
	if left := p.hold(key, true, now); left != messagePeriod {
		t.Errorf("the first message waits %s, want %s", left, messagePeriod)
	}
	now = now.Add(messagePeriod / 2)
	if left := p.hold(key, true, now); left != messagePeriod/2 {
		t.Errorf("the second message waits %s, want what is left of the first one's time", left)
	}
	if left := p.hold(types.NamespacedName{Name: "b"}, true, now); left != messagePeriod {
		t.Errorf("another object waits %s", left)
	}
	if left := p.hold(key, false, now); left != 0 {
		t.Errorf("other news wait %s", left)
	}
	if left := p.hold(key, true, now); left != messagePeriod {
		t.Errorf("after a write the next message waits %s", left)
	}
	now = now.Add(messagePeriod)
	if left := p.hold(key, true, now); left != 0 {
		t.Errorf("a message that waited its time waits %s more", left)
	}
}
