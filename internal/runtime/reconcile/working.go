package reconcile

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
)

// Reasons of the Ready condition when work in steps cannot go on. Package durable has those of
// work that goes on, or is over.
const (
	// ReasonStepsChanged: the code takes other steps than those that were begun.
	ReasonStepsChanged = "StepsChanged"
	// ReasonJournalUnreadable: the journal is of a newer operator, or damaged.
	ReasonJournalUnreadable = "JournalUnreadable"
	// ReasonJournalLost: the kind has no place for the journal.
	ReasonJournalLost = "JournalLost"
)

// workMistake is the reason of an error that keeps work in steps from going on, or nothing.
func workMistake(err error) string {
	switch {
	case is[*journal.ChangedError](err):
		return ReasonStepsChanged
	case is[*journal.UnreadableError](err):
		return ReasonJournalUnreadable
	case is[*LostJournalError](err):
		return ReasonJournalLost
	}
	if final, ok := errors.AsType[staller](err); ok {
		return final.Stalled()
	}
	return ""
}

// staller is an error that only a person can cure. It has the reason for the condition.
type staller interface {
	error
	Stalled() (reason string)
}

// journalOf finds the field Status.Journal of object, a pointer to a struct; nil where it has none.
func journalOf(object any) **journal.Journal {
	value := reflect.Indirect(reflect.ValueOf(object))
	if value.Kind() != reflect.Struct {
		return nil
	}
	status := value.FieldByName("Status")
	if !status.IsValid() || status.Kind() != reflect.Struct {
		return nil
	}
	field := status.FieldByName("Journal")
	if !field.IsValid() || !field.CanAddr() {
		return nil
	}
	found, _ := field.Addr().Interface().(**journal.Journal)
	return found
}

func errNoJournal(object any) error {
	return fmt.Errorf("%T: Status needs the field\n\tJournal *journal.Journal `json:\"journal,omitempty\"`\nfor its composer has the role Work", object)
}

// checkWorker tells whether a kind has what its composer's roles need.
func checkWorker[T client.Object](composer Composer[T], object T) error {
	if _, works := any(composer).(Worker[T]); works && journalOf(object) == nil {
		return errNoJournal(object)
	}
	return nil
}

// dropSteps empties what an object's steps say of themselves.
func dropSteps(object any) {
	if field := journalOf(object); field != nil && *field != nil {
		(*field).DropMessages()
	}
}

// working are the objects that are worked on now, so that the work can be ended when a watch shows
// that it is not wanted any more.
type working struct {
	mu  sync.Mutex
	end map[types.NamespacedName]context.CancelFunc
}

// begin returns a context that ends when the work on an object is not wanted any more.
func (w *working) begin(key types.NamespacedName) (unwanted context.Context, done func()) {
	unwanted, cancel := context.WithCancel(context.Background())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end == nil {
		w.end = map[types.NamespacedName]context.CancelFunc{}
	}
	w.end[key] = cancel
	return unwanted, func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.end, key)
	}
}

// cut ends the work on an object.
func (w *working) cut(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end := w.end[key]; end != nil {
		end()
	}
}

// heed ends the step that an object's work is at, where the object says that it is not wanted.
func (r *Reconciler[T]) heed(object client.Object) {
	worker, ok := any(r.Composer).(Worker[T])
	if !ok {
		return
	}
	canceller, _ := worker.(Canceller[T])
	typed, _ := object.(T)
	if object.GetDeletionTimestamp() != nil || canceller != nil && canceller.Cancelled(typed) != "" {
		r.working.cut(client.ObjectKeyFromObject(object))
	}
}

var _ durable.Reader = (*reading)(nil)
