package providers

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/external"
)

const (
	// callsAtOnce is the maximum number of concurrent calls of a reconcile.
	callsAtOnce = 4
	// maxSteps is how many steps a resource may take in one reconcile: a replacement takes ten.
	maxSteps = 24
)

// run is the execution of one task.
type run struct {
	*Keeper
	Task
	items []*item
	deeds []Deed
	err   error // of a write, or of the confirmation
	// confirmed means that the owner is still as it was read.
	confirmed bool
}

// item is one resource in a run.
type item struct {
	external.Situation
	kind   Kind
	wanted wanted
	memory *memory
	seen   *external.Observation[any]

	action external.Action // the last one
	err    error           // of the last call
	steps  int
	over   bool
	early  bool // it is observed together with others
}

// Keep executes a task, as far as possible without waiting.
func (k *Keeper) Keep(ctx context.Context, t Task) Result {
	r := &run{Keeper: k, Task: t}
	r.begin()
	for r.err == nil && r.round(ctx) {
	}
	return r.result()
}

// begin creates an item for each resource that is declared or recorded.
func (r *run) begin() {
	declared := map[external.Ref]Declared{}
	for _, d := range r.Declared {
		declared[d.Ref] = d
	}
	refs := slices.Collect(maps.Keys(declared))
	for ref := range r.Record.Entries {
		if _, twice := declared[ref]; !twice {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b external.Ref) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	for _, ref := range refs {
		d, ok := declared[ref]
		r.items = append(r.items, r.item(ref, d, ok))
	}
	now := r.clock.Now()
	due := slices.ContainsFunc(r.items, func(it *item) bool { return !now.Before(it.memory.due) })
	for _, it := range r.items {
		it.recall(now, due)
	}
}

func (r *run) item(ref external.Ref, d Declared, declared bool) *item {
	kind, reachable := r.Kinds[ref.Kind]
	it := &item{kind: kind, memory: r.remembered(r.Task, ref)}
	it.Situation = external.Situation{
		Owner: string(r.UID), Ref: ref, Declared: declared, ID: d.ID, Policy: d.Policy.With(r.Policy),
		Unreachable: !reachable, CanFind: kind.Calls.Find != nil, Once: kind.Calls.Once,
		Attempt: external.Attempt{Said: r.Said[ref]},
	}
	it.Made = it.memory.made
	r.read(it)
	it.wanted = wanted{desired: d.Desired, revision: kind.Revision, declared: declared, entry: it.Entry}
	return it
}

// read copies the record into the situation.
func (r *run) read(it *item) {
	it.Entry, it.Recorded = r.Record.Entries[it.Ref]
	now, m := r.clock.Now(), it.memory
	m.mark.of(it.Entry, m.by, it.kind.Limit, now)
	it.Called, it.Open = m.called, now.Before(m.open)
	it.Expired = now.Sub(m.began) > it.kind.Limit
	it.Fresh = now.Before(m.fresh)
	it.Proven = it.Entry.ID != "" && m.proven == it.Entry.ID
	it.Deleted = it.Entry.ID != "" && m.deleted == it.Entry.ID && now.Before(m.again)
}

// recall uses a recent observation if it was made for the same desired state. If other resources are observed now (due), observations
// that are due within a tenth of their interval are made now too: otherwise each resource of an object would cause its own reconciles.
func (it *item) recall(now time.Time, due bool) {
	m := it.memory
	if !it.wanted.equal(m.wanted) {
		m.tries, m.err, m.due = 0, nil, time.Time{}
		m.replaced = m.replaced && it.wanted.same(m.wanted)
	}
	it.Replaced = m.replaced
	if m.due.IsZero() || !now.Before(m.due) {
		return
	}
	if m.err != nil {
		it.err, it.over = m.err, true
		return
	}
	if it.early = due && m.ready && m.due.Sub(now) < it.kind.Poll/10; it.early {
		return
	}
	if m.seen != nil && m.id == it.lookedAt() {
		it.show(m.seen)
		it.Updated = m.updated
	}
}

// lookedAt returns the id that is observed.
func (it *item) lookedAt() string { return cmp.Or(it.ID, it.Entry.ID) }

// show copies an observation into the situation.
func (it *item) show(seen *external.Observation[any]) {
	it.seen = seen
	it.Looked, it.Exists, it.Waits, it.Drift, it.Immutable = true, seen.Exists, seen.Waits, seen.Drift, seen.Immutable
}

// round executes one step for each resource that is not settled. It reports whether there is more to do.
func (r *run) round(ctx context.Context) bool {
	var calls, edits []*item
	marking := map[string]bool{}
	for _, it := range r.items {
		if it.over || !r.turn(it, marking) {
			continue
		}
		switch it.steps++; {
		case it.action.Verb.Call():
			calls = append(calls, it)
		case it.action.Verb.Edit():
			edits = append(edits, it)
		default:
			it.over = true
		}
	}
	if err := r.confirm(ctx, calls); err != nil {
		r.edit(ctx, edits) // what is known now may not be stored anywhere else
		r.err = errors.Join(err, r.err)
		return false
	}
	r.call(ctx, calls)
	for _, it := range calls {
		r.after(it)
		if it.err != nil && it.unmark() {
			edits = append(edits, it)
		}
	}
	r.edit(ctx, edits)
	return len(calls)+len(edits) > 0
}

// confirm checks the owner before the first change or deletion.
func (r *run) confirm(ctx context.Context, calls []*item) error {
	risky := func(it *item) bool { return it.action.Verb == external.Update || it.action.Verb == external.Delete }
	if r.confirmed || r.Confirm == nil || !slices.ContainsFunc(calls, risky) {
		return nil
	}
	if err := r.Confirm(ctx); err != nil {
		return err
	}
	r.confirmed = true
	return nil
}

// turn determines the next step of an item, and reports whether it may be done now. marking are the
// kinds of which one resource is marked in this round.
func (r *run) turn(it *item, marking map[string]bool) bool {
	r.read(it)
	it.action = external.Next(it.Situation)
	verb := it.action.Verb
	if it.steps > maxSteps {
		it.action = external.Action{Verb: external.Wait, Reason: external.ReasonNotReady, Why: fmt.Sprintf("goes round in circles: next is to %s it", verb)}
		return true
	}
	if r.Rehearse && verb != external.Find && verb != external.Look && (verb.Call() || verb.Edit()) {
		r.deeds = append(r.deeds, Deed{Verb: verb, Ref: it.Ref, ID: it.action.ID, Why: it.action.Why})
		it.over = true
		return false
	}
	if verb != external.MarkIt || it.CanFind || it.Once {
		return true
	}
	// Resources that cannot be found by key are created one at a time: then a user has at most one to look for.
	if marking[it.Ref.Kind] || slices.ContainsFunc(r.items, func(other *item) bool { return other != it && other.pending(it.Ref.Kind) }) {
		return false
	}
	marking[it.Ref.Kind] = true
	return true
}

// pending reports whether an item is of a kind that is marked, and has no known id.
func (it *item) pending(kind string) bool {
	return it.Ref.Kind == kind && it.Recorded && it.Entry.ID == "" && it.Made == ""
}

// unmark allows removing a mark that is known to have created nothing, for a resource that cannot be
// found by key later.
func (it *item) unmark() bool {
	if it.action.Verb != external.Create || it.memory.called || it.CanFind || it.Once {
		return false
	}
	it.action = external.Action{Verb: external.Drop}
	return true
}

// call makes calls, a few at a time, and returns when all have ended.
func (r *run) call(ctx context.Context, items []*item) {
	var all sync.WaitGroup
	slots := make(chan struct{}, callsAtOnce)
	panics := make(chan any, len(items))
	for _, it := range items {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			defer func() {
				if recovered := recover(); recovered != nil {
					log.FromContext(ctx).Info("a provider panicked", "resource", it.Ref.String(), "stack", string(debug.Stack()))
					panics <- recovered
				}
			}()
			it.err = r.one(ctx, it)
		})
	}
	all.Wait()
	select {
	case recovered := <-panics:
		panic(recovered) // as if there had been no goroutine
	default:
	}
}

// one executes the call of an item.
func (r *run) one(ctx context.Context, it *item) error {
	gate := r.gates.of(it.kind)
	left, err := gate.pass(ctx, r.Owner)
	if err != nil {
		return err
	}
	if it.action.Verb == external.Create {
		if !it.memory.called && r.clock.Now().Sub(it.memory.began) > it.kind.Limit {
			gate.left(ctx, r.Owner, nil, false)
			return nil // it waited too long for its turn: it has to be marked again first
		}
		it.memory.called, it.memory.open = true, r.clock.Now().Add(openFor*it.kind.Limit)
	}
	limited, cancel := context.WithTimeout(ctx, it.kind.Limit)
	defer cancel()
	ended := false
	defer func() {
		if !ended { // it panicked, which says nothing about the system
			gate.left(ctx, r.Owner, nil, false)
		}
	}()
	err = r.send(limited, it)
	ended = true
	left(err)
	r.counted(it, err)
	if err == nil {
		return nil
	}
	if class := external.ClassOf(err); it.action.Verb == external.Create && (class == external.Denied || class == external.Refused) {
		it.memory.called = false
	}
	if external.ClassOf(err) == external.Refused || external.ClassOf(err) == external.Garbage {
		return fmt.Errorf("%s: %w", it.kind.System, err)
	}
	return gate.told(err)
}

// counted reports a call that ended.
func (r *run) counted(it *item, err error) {
	result := "ok"
	if err != nil {
		result = external.ClassOf(err).String()
	}
	if r.count != nil {
		r.count(it.kind.Name, string(it.action.Verb), result)
	}
}

// send executes the call itself.
func (r *run) send(ctx context.Context, it *item) error {
	calls := it.kind.Calls
	switch it.action.Verb {
	case external.Find:
		id, err := calls.Find(ctx, external.KeyOf(string(r.UID), it.Ref))
		if err != nil {
			return err
		}
		it.Asked, it.Found, it.memory.proven = true, id, id
		if id == "" {
			return nil
		}
		return external.CheckID(id)
	case external.Look:
		seen, err := calls.Observe(ctx, it.action.ID, it.wanted.desired)
		if err != nil {
			return err
		}
		it.show(&seen)
		return nil
	case external.Create:
		mark := external.Mark{Name: it.Ref.Name, Key: external.KeyOf(string(r.UID), it.Ref), Token: it.Entry.Token}
		id, err := calls.Create(ctx, mark, it.wanted.desired)
		if err != nil {
			return err
		}
		if err := external.CheckID(id); err != nil {
			return err
		}
		it.Made, it.memory.made, it.memory.proven = id, id, id
		return nil
	case external.Update:
		return calls.Update(ctx, it.action.ID, it.wanted.desired)
	}
	return calls.Delete(ctx, it.action.ID)
}

// after processes the result of a call.
func (r *run) after(it *item) {
	verb := it.action.Verb
	if verb != external.Find && verb != external.Look && (verb != external.Create || it.Made != "" || it.err != nil) {
		r.deeds = append(r.deeds, Deed{Verb: verb, Ref: it.Ref, ID: cmp.Or(it.Made, it.action.ID), Why: it.action.Why, Err: it.err})
	}
	if it.err != nil {
		it.over = true
		return
	}
	switch verb {
	case external.Create:
		if it.Made != "" {
			it.memory.fresh = r.clock.Now().Add(it.kind.Limit)
		}
	case external.Update:
		it.Updated, it.Looked = true, false
	case external.Delete:
		it.Looked = false
		m := it.memory
		m.deleted, m.again, m.fresh = it.action.ID, r.clock.Now().Add(timing.deleteAgain), time.Time{}
	}
}

// edit records the changes of all items in one write.
func (r *run) edit(ctx context.Context, items []*item) {
	if len(items) == 0 {
		return
	}
	for _, it := range items {
		r.change(it)
	}
	if err := r.Write(ctx, r.Record); err != nil {
		r.err = errors.Join(r.err, err)
		for _, it := range items {
			if it.Made != "" && apierrors.IsNotFound(err) { // its finalizers were removed in the meantime
				log.FromContext(ctx).Error(err, "an external resource was created for an object that is gone: delete the resource", "resource", it.Ref.String(), "id", it.Made)
			}
		}
		return
	}
	for _, it := range items {
		r.changed(it)
	}
}

// change edits the record for one item.
func (r *run) change(it *item) {
	switch it.action.Verb {
	case external.MarkIt:
		entry := external.Entry{Token: cmp.Or(it.Entry.Token, rand.Text()), By: it.memory.by, Orphan: it.Policy.Orphan}
		r.Record.Entries[it.Ref] = entry
		it.memory.mark = mark{token: entry.Token, began: r.clock.Now()}
	case external.Note:
		r.Record.Entries[it.Ref] = external.Entry{ID: it.action.ID, Orphan: it.Policy.Orphan}
	case external.Keep:
		entry := it.Entry
		entry.Orphan = it.Policy.Orphan
		r.Record.Entries[it.Ref] = entry
	case external.Drop:
		delete(r.Record.Entries, it.Ref)
	}
}

// changed processes that an edit was recorded.
func (r *run) changed(it *item) {
	adopted := it.action.Verb == external.Note && it.Made == ""
	if adopted || it.action.Verb == external.Drop && it.action.ID != "" {
		r.deeds = append(r.deeds, Deed{Verb: it.action.Verb, Ref: it.Ref, ID: it.action.ID, Why: it.action.Why})
	}
	switch it.action.Verb {
	case external.MarkIt:
		it.Said = ""
	case external.Note:
		it.memory.mark, it.Made, it.Found, it.Said = mark{}, "", "", ""
		it.Looked = false
	case external.Drop:
		m := it.memory
		m.mark, m.replaced = mark{}, it.Declared && it.Deleted
		it.Replaced = m.replaced
		it.Made, it.Looked, it.Asked, it.Found = "", false, false, ""
	}
	r.read(it)
	it.wanted.entry = it.Entry
}
