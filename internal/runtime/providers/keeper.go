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

// Keeper keeps external resources for the objects of one kind. What it holds in mind of an object ends
// with Forget, and nothing is held of objects that have none.
//
// Guarantees: no call is made for a resource that was seen as it should be until it is to be looked
// at again, or something else is wanted of it.
// Assumptions: one Keep at a time for an owner.
type Keeper struct {
	clock clock.PassiveClock
	// process tells marks of this process from others.
	process string
	gates   *gates

	count func(kind, call, result string)

	mu     sync.Mutex
	owners map[types.NamespacedName]*owner
}

// owner is what is known for one object.
type owner struct {
	uid       types.UID
	resources map[external.Ref]*memory
}

// NewKeeper returns a keeper that knows nothing yet. It tells count of each call: the kind, which call,
// and ok, away, denied, refused or garbage.
func NewKeeper(c clock.PassiveClock, count func(kind, call, result string)) *Keeper {
	return &Keeper{clock: c, process: rand.Text(), count: count, gates: &gates{clock: c}, owners: map[types.NamespacedName]*owner{}}
}

// Forget drops what is known for an owner that is gone.
func (k *Keeper) Forget(name types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.owners, name)
}

// remembered returns what is known of a resource. An object that was made again has nothing in common
// with the one before.
func (k *Keeper) remembered(t Task, ref external.Ref) *memory {
	k.mu.Lock()
	defer k.mu.Unlock()
	own := k.owners[t.Owner]
	if own == nil || own.uid != t.UID {
		own = &owner{uid: t.UID, resources: map[external.Ref]*memory{}}
		k.owners[t.Owner] = own
	}
	if own.resources[ref] == nil {
		own.resources[ref] = &memory{}
	}
	return own.resources[ref]
}

// forgetOne drops what is known of a resource that is gone.
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

// memory is what this process knows of one resource.
type memory struct {
	wanted
	// seen is what was observed last, of id, for what was wanted. It holds until due.
	seen *external.Observation[any]
	id   string
	due  time.Time
	// proven is the id that this process created, or that the system returned for the owner's key.
	proven  string
	updated bool // since then
	// err is what went wrong last, which is not tried again before due.
	err error
	// ready and why are what was told of it then.
	ready bool
	why   string
	// tries are how often it was waited for, or failed, in a row.
	tries int
	// deleted is the id that was, and again when that may be repeated. replaced: another one was made
	// since, for what is wanted.
	deleted  string
	again    time.Time
	replaced bool
	// fresh is until when one that was made need not show yet.
	fresh time.Time

	mark
}

// wanted is what an observation was made for.
type wanted struct {
	desired  any
	revision string
	declared bool
	entry    external.Entry
}

// same reports whether the same is wanted, whatever was recorded in the meantime.
func (w wanted) same(v wanted) bool {
	return w.declared == v.declared && w.revision == v.revision && reflect.DeepEqual(w.desired, v.desired)
}

func (w wanted) equal(v wanted) bool { return w.entry == v.entry && w.same(v) }

// mark is what is known of a creation under way.
type mark struct {
	token  string
	called bool
	// began is when it was set by this process, open until when a call under it may have an effect.
	began, open time.Time
	// made is the id that the call returned, until it is recorded.
	made string
}

// of returns what is known of the mark that is recorded. One of another process may be in use by it;
// how long, this process's own clock tells, from when it first saw it.
func (m *mark) of(entry external.Entry, process string, limit time.Duration, now time.Time) {
	if entry.Token == "" || m.token == entry.Token && (entry.By == process) == !m.began.IsZero() {
		return
	}
	if entry.By == process {
		*m = mark{token: entry.Token, began: now, made: m.made} // the answer to our write was lost: nothing was called
		return
	}
	*m = mark{token: entry.Token, called: true, open: now.Add(openFor * limit), made: m.made}
}

// openFor is for how many limits of a call a creation may have an effect: one until it begins, one until
// it has ended, and one until its effect shows.
const openFor = 3
