package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/plan"
)

func object(uid, version string) *plan.Live {
	return &plan.Live{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Name: "web", UID: types.UID(uid), ResourceVersion: version}
}

func newest(m *Memory, id plan.ID, cached *plan.Live) *plan.Live {
	v := m.View()
	defer v.End()
	return v.Newest(id, cached)
}

func TestNewest(t *testing.T) {
	t.Parallel()
	wrote := func(o *plan.Live) func(*Memory) {
		return func(m *Memory) { m.wrote(o) }
	}
	deleted := func(o *plan.Live) func(*Memory) {
		return func(m *Memory) { m.deleted(o) }
	}
	released := func(o *plan.Live) func(*Memory) {
		return func(m *Memory) { m.released(o) }
	}
	old, written, later, another := object("a", "9"), object("a", "10"), object("a", "11"), object("b", "12")
	tests := []struct {
		name   string
		before func(*Memory)
		cached *plan.Live
		want   *plan.Live
	}{
		{"nothing written", func(*Memory) {}, old, old},
		{"the cache lags behind an update", wrote(written), old, written},
		{"the cache lags behind a creation", wrote(written), nil, written},
		{"the cache caught up", wrote(written), written, written},
		{"the cache is ahead", wrote(written), later, later},
		{"another object took the place", wrote(written), another, another},
		{"the cache shows the object whose place was taken", wrote(another), written, another},
		{"the cache lags behind a release", released(written), old, nil},
		{"deleted and made again by somebody", deleted(written), another, another},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := NewMemory()
			test.before(m)
			if got := newest(m, old.ID(), test.cached); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// A reconcile asks about a child twice, the second time with the answer to the first. The next one
// still gets the newest state while the cache lags.
func TestNewestIsAskedAgain(t *testing.T) {
	t.Parallel()
	old, written := object("a", "9"), object("a", "10")
	for name, test := range map[string]struct {
		before func(*Memory)
		want   *plan.Live
	}{
		"written":  {func(m *Memory) { m.wrote(written) }, written},
		"released": {func(m *Memory) { m.released(old) }, nil},
	} {
		m := NewMemory()
		test.before(m)
		for pass := range 3 {
			for _, asked := range []*plan.Live{old, test.want} {
				if got := newest(m, old.ID(), asked); got != test.want {
					t.Errorf("%s: in pass %d got %v, want %v", name, pass, got, test.want)
				}
			}
		}
	}
}

func TestWhatWasDeletedIsGoingUntilTheCacheLostIt(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	cached := object("a", "10")
	m.deleted(cached)
	got := newest(m, cached.ID(), cached)
	if got == nil || !got.Deleting {
		t.Errorf("got %v, want an object that is being deleted", got)
	}
	if cached.Deleting {
		t.Error("the cached object was changed")
	}
	if got := newest(m, cached.ID(), nil); got != nil {
		t.Errorf("got %v of an object that the cache lost", got)
	}
}

func TestWhatTookThePlaceOfADeletedObjectEndsTheMemory(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	m.deleted(object("a", "10"))
	if got := m.Seen(object("b", "12"), func() {}); got != Newer {
		t.Errorf("it is %v, want it newer", got)
	}
	if got := m.Seen(object("b", "13"), func() {}); got != Unwritten {
		t.Errorf("a later state is %v: the deletion is still held", got)
	}
}

func TestADeletionThatWasSeenEndsTheMemory(t *testing.T) {
	t.Parallel()
	m := NewMemory()
	written := object("a", "10")
	m.wrote(written)
	m.Gone(written)
	if got := newest(m, written.ID(), nil); got != nil {
		t.Errorf("got %v of an object that is gone", got)
	}
}

func TestWhatAWatchShowsOfOurWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		shown *plan.Live
		want  Sight
		keeps bool
	}{
		{"the answer itself", object("a", "10"), Known, false},
		{"the state before", object("a", "9"), Known, true},
		{"what somebody wrote after", object("a", "11"), Newer, false},
		{"another object of the name", object("b", "13"), Newer, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := NewMemory()
			written := object("a", "10")
			m.wrote(written)
			if got := m.Seen(test.shown, func() {}); got != test.want {
				t.Errorf("it is %v, want %v", got, test.want)
			}
			if got := newest(m, written.ID(), nil) == written; got != test.keeps {
				t.Errorf("is the write held: %v, want %v", got, test.keeps)
			}
			if got := m.Seen(test.shown, func() {}); !test.keeps && got != Unwritten {
				t.Errorf("seen again it is %v, want it unwritten", got)
			}
		})
	}
}

// Objects that compose a child of the same name write to it at the same time: what a watch
// shows meanwhile is told to the one that has it, however the other's attempt ends.
func TestWritesOfOneNameAtTheSameTime(t *testing.T) {
	t.Parallel()
	m, told := NewMemory(), 0
	written, changed := object("a", "10"), object("a", "11")
	m.begin(written.ID())
	m.Seen(changed, func() { told++ })
	m.begin(written.ID())
	m.wrote(written)
	if told > 0 {
		t.Error("it was told while a write is under way")
	}
	m.failed(written.ID())
	if told != 1 {
		t.Errorf("what somebody wrote was told %d times, want once", told)
	}
}

// A watch may show a write after the cache was read and before anybody asks what is newer.
func TestAViewKeepsWhatAWatchShowsMeanwhile(t *testing.T) {
	t.Parallel()
	old, written := object("a", "9"), object("a", "10")
	m := NewMemory()
	m.wrote(written)
	v := m.View()
	m.Seen(written, func() {})
	for name, cached := range map[string]*plan.Live{"before": old, "in which there is none": nil} {
		if got := v.Newest(written.ID(), cached); got != written {
			t.Errorf("over the state %s got %v, want what was written", name, got)
		}
	}
	v.End()
	if len(m.views)+len(m.last) > 0 {
		t.Errorf("afterwards %d views and %d writes are kept", len(m.views), len(m.last))
	}
	if got := newest(m, written.ID(), nil); got != nil {
		t.Errorf("afterwards got %v", got)
	}
}
