// Package watches watches what reconciles read. Each read of a reconcile registers a watch; when
// the result changes, the reconciled object is queued again. No author can forget
// to declare a watch, and nothing is watched without a reader.
//
// Guarantees: a change of an object that a reconcile read, or of one that its selection
// would have found, queues the reader. Watches are shared by all readers of an operator and
// end with the last one. Memory is bounded by what is read: one object, the
// objects that a selector finds, or those that have the labels of a selection; for children
// no more than plan.Live. A kind that the cluster lacks may be read: it has no objects
// until it appears, and its readers are queued then, and also when it is removed. A permission
// that is lost while a watch runs is an error of the next read.
//
// Assumptions: resource versions of one kind are increasing numbers.
//
// Caveats: an object that is read by its name has a separate watch; if many are read,
// labels are better. Only for reads of metadata, one watch serves many objects. Reading everything of a kind is refused unless explicitly requested.
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

// Config of a tracker. All fields are required except Namespaces and Shard.
type Config struct {
	Wire *resourceclient.Wire
	// Scheme has the Go types that are read.
	Scheme *runtime.Scheme
	// Namespaces limits what is watched; empty means all.
	Namespaces []string
	// Manager is the operator's field manager.
	Manager string
	// Shard returns the selector of the children of all owners that are in the same shard as an
	// owner. If nil, one watch covers all children of a kind.
	Shard func(owner types.UID) string
	// Writes to children are held in the operator's ledger until watches deliver them.
	Writes *freshness.Children
}

// Queue holds the objects of one controller that wait to be reconciled.
type Queue struct {
	// Changed is called with each reader of a changed object, and with what happened.
	// It must not block.
	Changed func(reader types.NamespacedName, why trigger.Cause)
}

// reader identifies an object whose reconcile reads.
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
	// popular counts the watches by name that a watch with the scope could serve.
	popular map[scope]*popularity
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
		popular: map[scope]*popularity{},
	}
}

// Session records the reads of one reconcile.
type Session struct {
	tracker *Tracker
	reader  reader
	used    []use
	lacks   []schema.GroupVersionKind
}

// Begin starts a session for the reconcile of an object of a controller.
func (t *Tracker) Begin(queue *Queue, name types.NamespacedName) *Session {
	return &Session{tracker: t, reader: reader{queue, name}}
}

// End retains the watches that were read in this session and releases those that only an
// earlier one read. Without End, as after a reconcile that failed halfway, all are retained.
func (s *Session) End() {
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
}

// register makes changes in a watch queue the reader. The lock is held.
func (t *Tracker) register(u use, r reader) {
	if slices.Contains(t.uses[r], u) {
		return
	}
	t.uses[r] = append(t.uses[r], u)
	u.readers[u.index] = append(u.readers[u.index], r)
}

// release removes a reader from a watch and ends the watch after the last reader. The lock is held.
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
		t.count(w.scope, -1)
	}
}

// lose ends a watch that the API server no longer serves, and queues its readers.
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

// isMissing reports whether an error means that the cluster does not have a kind.
func isMissing(err error) bool {
	_, missing := errors.AsType[*resourceclient.MissingKindError](err)
	return missing
}
