package reconcile

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/queue"
)

func TestMessagesAreHeldBackForAMoment(t *testing.T) {
	t.Parallel()
	var k remembered
	now := time.Unix(1_000_000, 0)
	if left := k.hold(true, now); left != timing.messagePeriod {
		t.Errorf("the first message waits %s, want %s", left, timing.messagePeriod)
	}
	now = now.Add(timing.messagePeriod / 2)
	if left := k.hold(true, now); left != timing.messagePeriod/2 {
		t.Errorf("the second message waits %s, want what is left of the first one's time", left)
	}
	if left := k.hold(false, now); left != 0 {
		t.Errorf("other news wait %s", left)
	}
	if left := k.hold(true, now); left != timing.messagePeriod {
		t.Errorf("after a write the next message waits %s", left)
	}
	now = now.Add(timing.messagePeriod)
	if left := k.hold(true, now); left != 0 {
		t.Errorf("a message that waited its time waits %s more", left)
	}
}

// Another object of the same name has its own burst; the same object keeps its rate limit.
func TestPaceIsThatOfAnObject(t *testing.T) {
	t.Parallel()
	var all objects
	key, now := types.NamespacedName{Name: "a"}, time.Unix(1_000_000, 0)
	rate := queue.Rate{Burst: 1, Every: time.Second}
	take := func(uid types.UID) time.Duration {
		known := all.get(key)
		known.becomes(uid)
		left, _ := known.pace.Take(rate, now)
		return left
	}
	if first, second := take("one"), take("one"); first != 0 || second != time.Second {
		t.Errorf("reconciles of one object wait %s and %s, want 0 and 1s", first, second)
	}
	if left := take("two"); left != 0 {
		t.Errorf("a new object of the name waits %s", left)
	}
	all.forget(key)
	if len(all.known) > 0 {
		t.Errorf("%d objects are remembered, want none", len(all.known))
	}
	if left := take("two"); left != 0 {
		t.Errorf("an object that was forgotten waits %s", left)
	}
}

// Another object of the same name has not lost the children of its predecessor.
func TestChildrenAreThoseOfAnObject(t *testing.T) {
	t.Parallel()
	var k remembered
	k.becomes("one")
	child := &plan.Live{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Name: "a"}
	k.family.Saw(child)
	if k.becomes("one"); !k.family.Knows(child.ID()) {
		t.Error("the child of the object is forgotten")
	}
	if k.becomes("two"); k.family.Knows(child.ID()) {
		t.Error("the child of the predecessor is remembered")
	}
}

// An object that is deleted without its children stays that, and its successor is not.
func TestOrphansAreThoseOfAnObject(t *testing.T) {
	t.Parallel()
	var all objects
	key := types.NamespacedName{Name: "a"}
	all.orphan(key, "one")
	all.get(key).becomes("one")
	if !all.orphaned(key, "one") || all.orphaned(key, "two") {
		t.Error("the wrong object is deleted without its children")
	}
}

func TestWorkIsStoppedWhileItRuns(t *testing.T) {
	t.Parallel()
	var all objects
	key := types.NamespacedName{Name: "a"}
	object := func(name string, uid types.UID) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}}
	}
	all.stopWork(object("a", "2")) // nothing runs
	unwanted, done := all.beginWork(all.get(key), "2")
	for _, other := range []*metav1.PartialObjectMetadata{object("b", "2"), object("a", "1")} {
		if all.stopWork(other); unwanted.Err() != nil {
			t.Errorf("the work ended with that of %s, UID %s", other.Name, other.UID)
		}
	}
	all.stopWork(object("a", "2"))
	if unwanted.Err() == nil {
		t.Error("the work continues")
	}
	done()
	all.stopWork(object("a", "2"))
}
