package freshness

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/operon-framework/operon/internal/core/plan"
)

// rig is a ledger of children with one watch, whose cache the test fills.
type rig struct {
	*testing.T
	*Children
	store toolscache.Store
	shown *ChildWatch
	lost  []*plan.Live
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, Children: NewChildren(), store: toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)}
	covers := func(live *plan.Live) bool { return live.Kind.Kind == "ConfigMap" }
	r.shown = WatchChildren(r.Children, r.store, covers, func(live *plan.Live) { r.lost = append(r.lost, live) })
	return r
}

func child(uid, version string) *plan.Live {
	return &plan.Live{
		Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "default", Name: "web", UID: types.UID(uid), ResourceVersion: version,
	}
}

// named returns a child with another name.
func named(name, version string) *plan.Live {
	live := child("uid of "+name, version)
	live.Name = name
	return live
}

// shows makes the watch show a state and stores it in the cache.
func (r *rig) shows(live *plan.Live) Sight {
	r.Helper()
	if err := r.store.Add(live); err != nil {
		r.Fatal(err)
	}
	return r.shown.Shown(live.ID(), FormOfChild(live), nil)
}

// ends makes the watch show the end of an object and removes it from the cache.
func (r *rig) ends(live *plan.Live) {
	r.Helper()
	if err := r.store.Delete(live); err != nil {
		r.Fatal(err)
	}
	r.shown.Gone(live.ID(), FormOfChild(live))
}

func (r *rig) begin(live *plan.Live) *Flight[plan.ID, *plan.Live] { return r.Begin(live.ID(), 0) }

// newest reads a child for a given state in the cache.
func (r *rig) newest(cached *plan.Live) *plan.Live {
	v := r.View()
	defer v.End()
	return v.Newest(child("", "").ID(), cached)
}

func (r *rig) holds(want int) {
	r.Helper()
	if got := r.Kept(); got != want {
		r.Errorf("%d writes are held, want %d", got, want)
	}
}

func TestNewest(t *testing.T) {
	t.Parallel()
	old, written, later, another := child("a", "9"), child("a", "10"), child("a", "11"), child("b", "12")
	wrote := func(o *plan.Live) func(*rig) { return func(r *rig) { r.begin(o).Wrote(o) } }
	deleted := func(o *plan.Live) func(*rig) { return func(r *rig) { r.begin(o).Deleted(o) } }
	released := func(o *plan.Live) func(*rig) { return func(r *rig) { r.begin(o).Released(o) } }
	tests := []struct {
		name         string
		before       func(*rig)
		cached, want *plan.Live
	}{
		{"nothing written", func(*rig) {}, old, old},
		{"the cache lags behind an update", wrote(written), old, written},
		{"the cache lags behind a creation", wrote(written), nil, written},
		{"the cache caught up", wrote(written), written, written},
		{"the cache is ahead", wrote(written), later, later},
		{"another object took the name", wrote(written), another, another},
		{"the cache shows the object whose name was taken", wrote(another), written, another},
		{"the cache lags behind a release", released(written), old, nil},
		{"released, and selected again by another writer", released(written), later, later},
		{"deleted, and created again by another writer", deleted(written), another, another},
		{"deleted, and the cache shows its predecessor", deleted(another), written, nil},
		{"deleted, and the cache lost it", deleted(written), nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			test.before(r)
			for range 2 { // a reconcile may read twice
				if got := r.newest(test.cached); got != test.want {
					t.Errorf("got %v, want %v", got, test.want)
				}
			}
		})
	}
}

func TestADeletedChildReadsAsBeingDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cached := child("a", "10")
	r.shows(cached)
	r.begin(cached).Deleted(cached)
	if got := r.newest(cached); got == nil || !got.Deleting || cached.Deleting {
		t.Errorf("got %v over %v, want a copy that is being deleted", got, cached)
	}
	deleting := child("a", "11")
	deleting.Deleting = true
	if got := r.newest(deleting); got != deleting {
		t.Errorf("got %v, want what the cache holds", got)
	}
	r.shows(deleting)
	r.holds(0)
}

func TestWhatAWatchShowsOfOwnWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		shown *plan.Live
		want  Sight
		held  int
	}{
		{"the answer itself", child("a", "10"), Known, 0},
		{"the state before", child("a", "9"), Known, 1},
		{"what another writer wrote after", child("a", "11"), Newer, 0},
		{"another object of the name", child("b", "13"), Newer, 0},
		{"another object", named("other", "14"), Unwritten, 0}, // so the watch has passed the write
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			written := child("a", "10")
			r.begin(written).Wrote(written)
			if got := r.shows(test.shown); got != test.want {
				t.Errorf("it is %v, want %v", got, test.want)
			}
			r.holds(test.held)
		})
	}
}

// Objects that compose a child with the same name write to it at the same time. States that a watch shows in the meantime are
// reported to the object that owns the child, regardless of how the other attempt ends.
func TestWritesOfOneNameAtTheSameTime(t *testing.T) {
	t.Parallel()
	r, told := newRig(t), 0
	written, changed := child("a", "10"), child("a", "11")
	first := r.begin(written)
	r.shown.Shown(changed.ID(), FormOfChild(changed), func() { told++ })
	second := r.begin(written)
	if first.Wrote(written); told > 0 {
		t.Error("the event was reported while a write is in flight")
	}
	if news := second.Failed(); told != 1 || !news {
		t.Errorf("another writer's state was reported %d times, want once", told)
	}
}

// The version of a deletion is unknown. A late event of the object that had the name before does not concern it.
func TestALateEventOfAPredecessorDoesNotEndADeletion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	deleted := child("b", "12")
	r.begin(deleted).Deleted(deleted)
	if got := r.shows(child("a", "10")); got != Known {
		t.Errorf("the predecessor is %v, want it known", got)
	}
	r.ends(child("a", "11"))
	r.holds(1)
	if got := r.shows(child("c", "14")); got != Newer {
		t.Errorf("the successor is %v, want it newer", got)
	}
	r.holds(0)
}

func TestALateAnswerToADeletionKeepsTheSuccessor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, second := child("a", "10"), child("b", "12")
	deletion := r.begin(first)
	r.begin(second).Wrote(second)
	deletion.Deleted(first)
	if got := r.newest(first); got != second {
		t.Errorf("got %v, want the object that was created", got)
	}
	late := r.begin(second)
	r.begin(second).Deleted(second)
	update := child("b", "13")
	late.Wrote(update)
	if got := r.newest(first); got != nil {
		t.Errorf("got %v of an object that was deleted while its update was in flight", got)
	}
	if got := r.newest(second); got == nil || !got.Deleting || got.ResourceVersion != "13" {
		t.Errorf("got %v, want the update as being deleted", got)
	}
}

func TestAReleasedChildComesBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	released, again := child("a", "10"), child("a", "12")
	r.begin(released).Released(released)
	if got := r.newest(again); got != again {
		t.Errorf("got %v, want the child that a relist shows as selected again", got)
	}
	r.shows(again)
	r.holds(0)
}

// A watch may show a write, or the end of an object, after the cache was read and before the view is queried.
func TestAViewKeepsWhatWatchesShowMeanwhile(t *testing.T) {
	t.Parallel()
	old, written := child("a", "9"), child("a", "10")
	r := newRig(t)
	r.begin(written).Wrote(written)
	v := r.View()
	r.shows(written)
	for name, cached := range map[string]*plan.Live{"before": old, "in which there is none": nil} {
		if got := v.Newest(written.ID(), cached); got != written {
			t.Errorf("over the state %s got %v, want what was written", name, got)
		}
	}
	v.End()
	r.holds(0)
	if got := r.newest(nil); got != nil {
		t.Errorf("afterwards got %v", got)
	}
	r.begin(written).Deleted(written)
	v = r.View()
	defer v.End()
	r.ends(child("a", "11"))
	if got := v.Newest(written.ID(), written); got == nil || !got.Deleting {
		t.Errorf("got %v of an object whose end was shown after the cache was read", got)
	}
	if len(v.Keys()) != 1 {
		t.Errorf("the view names %v", v.Keys())
	}
}

// A state that is read without a cache is stored like a write, unless the watch showed it during the read.
func TestAReadPastCachesThatAWatchOvertakes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	found := child("a", "10")
	reading := r.begin(found)
	r.shows(found)
	r.ends(child("a", "11"))
	reading.Wrote(found)
	r.holds(0)
	if got := r.newest(nil); got != nil {
		t.Errorf("got %v of an object that is gone", got)
	}
}

func TestAWriteThatChangesNothingIsNotHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	same := child("a", "10")
	r.shows(same)
	r.begin(same).Wrote(same)
	r.holds(0)
}

// A write that no watch shows is not stored: no watch covers it, or its object ended during an interruption, which is reported.
func TestAWriteThatNoWatchShowsIsNotHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	secret := child("s", "5")
	secret.Kind.Kind = "Secret"
	r.begin(secret).Wrote(secret)
	r.holds(0)
	brief := child("a", "10")
	r.begin(brief).Wrote(brief)
	r.store.Bookmark("12")
	if got := r.newest(nil); got != nil {
		t.Errorf("got %v, which a cache at a later version does not hold", got)
	}
	r.shows(named("other", "13"))
	r.holds(0)
	if len(r.lost) != 1 || r.lost[0] != brief {
		t.Errorf("%v are reported as lost", r.lost)
	}
}

func TestTheEndOfAWatchDropsWhatItAloneCovers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	written := child("a", "10")
	r.begin(written).Wrote(written)
	other := WatchChildren(r.Children, r.store, func(*plan.Live) bool { return true }, func(*plan.Live) {})
	r.shown.End()
	r.holds(1)
	other.End()
	r.holds(0)
}
