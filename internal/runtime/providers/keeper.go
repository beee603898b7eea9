package providers

import (
	"crypto/rand"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/operon-framework/operon/external"
)

// Keeper manages external resources for the objects of one kind. The data that it stores about an object is removed by
// Forget. Nothing is stored about objects without resources.
//
// Guarantees: if a resource was observed in the desired state, no call is made for it until its next observation is due or
// the desired state changes.
// Assumptions: Keep is called for one owner at a time.
type Keeper struct {
	clock clock.PassiveClock
	gates *gates

	count func(kind, call, result string)

	mu     sync.Mutex
	owners map[types.NamespacedName]*owner
}

// owner contains the known data about one object.
type owner struct {
	uid       types.UID
	resources map[external.Ref]*memory
}

// NewKeeper returns an empty keeper. It calls count for each call, with the kind, the name of the call, and ok, away, denied,
// refused or garbage.
func NewKeeper(c clock.PassiveClock, count func(kind, call, result string)) *Keeper {
	return &Keeper{clock: c, count: count, gates: &gates{clock: c}, owners: map[types.NamespacedName]*owner{}}
}

// Forget removes the data about a deleted owner.
func (k *Keeper) Forget(name types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.owners, name)
}

// remembered returns the data about a resource. A recreated object does not share data with its predecessor.
func (k *Keeper) remembered(t Task, ref external.Ref) *memory {
	k.mu.Lock()
	defer k.mu.Unlock()
	own := k.owners[t.Owner]
	if own == nil || own.uid != t.UID {
		own = &owner{uid: t.UID, resources: map[external.Ref]*memory{}}
		k.owners[t.Owner] = own
	}
	if own.resources[ref] == nil {
		own.resources[ref] = &memory{by: rand.Text()}
	}
	return own.resources[ref]
}

// forgetOne removes the data about a deleted resource.
func (k *Keeper) forgetOne(t Task, ref external.Ref) {
	k.mu.Lock()
	defer k.mu.Unlock()
	own := k.owners[t.Owner]
	if own == nil {
		return
	}
	delete(own.resources, ref)
	if len(own.resources) == 0 {
		delete(k.owners, t.Owner)
	}
}

// memory is the data of this process about one resource.
type memory struct {
	wanted
	// by distinguishes marks of this memory from those of other processes, and of this process before it forgot the owner.
	by string
	// seen is the last observation of id, for the given desired state. It is valid until due.
	seen *external.Observation[any]
	id   string
	due  time.Time
	// proven is the id that this process created, or that the system returned for the owner's key.
	proven  string
	updated bool // since then
	// err is the last error. The call is not retried before due.
	err error
	reported
	// tries is the number of consecutive waits or failures.
	tries int
	// deleted is the ID that was deleted, and again is when the deletion may be repeated. replaced means that a replacement
	// was created since then, for the current desired state.
	deleted  string
	again    time.Time
	replaced bool
	// fresh is until when a created resource may not be visible yet.
	fresh time.Time

	mark
}

// reported is what was reported about a resource.
type reported struct {
	ready bool
	why   string
}

// wanted is the desired state for which an observation was made.
type wanted struct {
	desired  any
	revision string
	declared bool
	entry    external.Entry
}

// same reports whether the desired states are equal, regardless of the record.
func (w wanted) same(v wanted) bool {
	return w.declared == v.declared && w.revision == v.revision && reflect.DeepEqual(w.desired, v.desired)
}

func (w wanted) equal(v wanted) bool { return w.entry == v.entry && w.same(v) }

// mark is the data about a creation in progress.
type mark struct {
	token  string
	called bool
	// began is when this process set the mark. open is until when a call under the mark may have an effect.
	began, open time.Time
	// made is the ID that the call returned, until it is recorded.
	made string
}

// of updates the mark from the recorded entry. Another process may be using its mark. The time for that is measured by the
// clock of this process, from when it first saw the mark.
func (m *mark) of(entry external.Entry, own string, limit time.Duration, now time.Time) {
	if entry.Token == "" || m.token == entry.Token && (entry.By == own) == !m.began.IsZero() {
		return
	}
	if entry.By == own {
		*m = mark{token: entry.Token, began: now, made: m.made} // the response to our write was lost, and no call was made
		return
	}
	*m = mark{token: entry.Token, called: true, open: now.Add(openFor * limit), made: m.made}
}

// openFor is how long a creation may have an effect, as a multiple of the call limit: one limit until it begins, one until it
// has ended, and one until its effect is visible.
const openFor = 3
