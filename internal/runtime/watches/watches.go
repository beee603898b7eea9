// Package watches watches what reconciles read. A reconcile says what it reads as it reads
// it; when that changes, the object that was reconciled is queued again. Nobody can forget
// to declare a watch, and nothing is watched that nobody reads.
//
// Guarantees: a change of an object that a reconcile read, or of one that its selection
// would have found, queues the reader. Watches are shared by all readers of an operator and
// end with the last one. What is held in memory is bounded by what is read: one object, the
// objects that a selector finds, or those that carry the labels of a selection; of children
// no more than plan.Live. A kind that the cluster lacks may be read: there is nothing of it
// until it comes, and its readers are queued then, as they are when it goes. A permission
// that is lost while a watch runs is an error of the next read.
//
// Assumptions: resource versions of one kind are numbers that grow.
//
// Caveats: an object that is read by its name has a watch of its own; where many are read,
// labels are better. Reading everything of a kind is refused unless asked for by name.
package watches

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Config of a tracker. All fields are required but Namespaces and Shard.
type Config struct {
	Wire *resourceclient.Wire
	// Scheme has the Go types that are read.
	Scheme *runtime.Scheme
	// Namespaces limits what is watched; empty means all.
	Namespaces []string
	// Manager is the operator's field manager.
	Manager string
	// Shard returns the selector of the children of all owners that are in the same shard as an
	// owner. Nil: all children of a kind are of one watch.
	Shard func(owner types.UID) string
	// Writes to children are held in the operator's ledger until watches show them.
	Writes *freshness.Children
}

// Queue is where the objects of one controller wait to be reconciled.
type Queue struct {
	// Changed is called with each reader of something that changed, and with what happened.
	// It must not block.
	Changed func(reader types.NamespacedName, why trigger.Cause)
}

// reader is who reads.
type reader struct {
	*Queue
	types.NamespacedName
}

// Tracker holds the watches of an operator.
type Tracker struct {
	Config
	life context.Context

	mu      sync.Mutex
	watches map[scope]*watch
	uses    map[reader][]use
	missing map[schema.GroupVersionKind]map[reader]bool
}

// use is what a reader reads of a watch.
type use struct {
	*watch
	index string
}

// New returns a tracker that watches until life ends.
func New(life context.Context, cfg Config) *Tracker {
	return &Tracker{
		Config:  cfg,
		life:    life,
		watches: map[scope]*watch{},
		uses:    map[reader][]use{},
		missing: map[schema.GroupVersionKind]map[reader]bool{},
	}
}

// Session is the reading of one reconcile.
type Session struct {
	tracker *Tracker
	reader  reader
	used    []use
	lacks   []schema.GroupVersionKind
}

// Begin starts the reading of a reconcile of an object of a controller.
func (t *Tracker) Begin(queue *Queue, name types.NamespacedName) *Session {
	return &Session{tracker: t, reader: reader{queue, name}}
}

// End keeps the watches that were read in this session and releases those that only an
// earlier one read. Without End, as after a reconcile that failed halfway, all are kept.
func (s *Session) End(context.Context) error {
	t := s.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range slices.Clone(t.uses[s.reader]) {
		if !slices.Contains(s.used, u) {
			t.release(u, s.reader)
		}
	}
	for kind, readers := range t.missing {
		if !slices.Contains(s.lacks, kind) {
			delete(readers, s.reader)
		}
	}
	return nil
}

// register lets the reader be queued for what a watch shows. The lock is held.
func (t *Tracker) register(u use, r reader) {
	if slices.Contains(t.uses[r], u) {
		return
	}
	t.uses[r] = append(t.uses[r], u)
	u.readers[u.index] = append(u.readers[u.index], r)
}

// release takes a reader off a watch and ends the watch after the last. The lock is held.
func (t *Tracker) release(u use, r reader) {
	t.uses[r] = slices.DeleteFunc(t.uses[r], func(other use) bool { return other == u })
	if len(t.uses[r]) == 0 {
		delete(t.uses, r)
	}
	w := u.watch
	w.readers[u.index] = slices.DeleteFunc(w.readers[u.index], func(other reader) bool { return other == r })
	if len(w.readers[u.index]) == 0 {
		delete(w.readers, u.index)
	}
	if len(w.readers) == 0 {
		t.end(w)
	}
}

// end stops a watch. The lock is held.
func (t *Tracker) end(w *watch) {
	w.stop()
	if t.watches[w.scope] == w {
		delete(t.watches, w.scope)
	}
}

// lose ends a watch that the API server does not serve any more, and queues its readers.
func (t *Tracker) lose(w *watch) {
	t.mu.Lock()
	t.end(w)
	readers := w.all()
	t.mu.Unlock()
	tell(readers, ofKind(w.kind, gone, "it can no longer be watched"))
}

func tell(readers []reader, why trigger.Cause) {
	for _, r := range readers {
		r.Changed(r.NamespacedName, why)
	}
}

// Watches counts the watches, for tests and metrics.
func (t *Tracker) Watches() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.watches)
}

// isMissing reports whether an error is that the cluster does not have a kind.
func isMissing(err error) bool {
	_, missing := errors.AsType[*resourceclient.MissingKindError](err)
	return missing
}
