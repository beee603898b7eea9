package watches

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// manyByName is how many objects of a kind are watched by their names before one watch of all objects may serve further ones.
const manyByName = 32

// objectsPerWatch is how many objects of a kind one watch may hold in place of a watch by name. A watch takes about 100 KB with
// its goroutines and buffers (bench/engines, 1,000 custom resources), and the metadata of an object less than 2 KB. A watch of all
// objects stays as long as it has readers, also if the kind grows.
const objectsPerWatch = 50

// popularity counts the watches by name that a watch of all objects could serve.
type popularity struct {
	watches int
	// from is the number of watches from which on the number of objects is looked up again.
	from int
}

// all returns the scope of a watch of all objects of the kind, in the namespaces of the operator or else in that of the object. It
// reports false for scopes that such a watch must not replace: whole objects may take any amount of memory.
func (t *Tracker) all(named scope) (scope, bool) {
	wide := scope{kind: named.kind, form: named.form, byName: true}
	if t.outside(named.namespace) {
		wide.namespace = named.namespace
	}
	return wide, named.name != "" && named.form == resourceclient.Metadata
}

// count adds to the number of watches by name. The lock is held.
func (t *Tracker) count(named scope, more int) {
	wide, ok := t.all(named)
	if !ok {
		return
	}
	if t.popular[wide] == nil {
		t.popular[wide] = &popularity{from: manyByName}
	}
	if t.popular[wide].watches += more; t.popular[wide].watches == 0 {
		delete(t.popular, wide)
	}
}

// serving returns the watch that serves a read by name, and the index to read of it: the watch of the object, or that of all
// objects of its kind, if many of them are read.
func (s *Session) serving(ctx context.Context, named scope) (*watch, string, error) {
	wide, ok := s.tracker.all(named)
	if !ok || !s.tracker.favors(ctx, wide) {
		w, err := s.watch(ctx, named, "")
		return w, "", err
	}
	at := index(named.namespace, named.name)
	w, err := s.watch(ctx, wide, at)
	if apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) {
		s.tracker.lose(w) // and the next read is by name
	}
	return w, at, err
}

// favors reports whether a watch of all objects of a kind exists or takes less memory than the watches by name.
func (t *Tracker) favors(ctx context.Context, wide scope) bool {
	t.mu.Lock()
	_, exists := t.watches[wide]
	many := 0
	if p := t.popular[wide]; p != nil && p.watches >= p.from {
		many = p.watches
	}
	t.mu.Unlock()
	if exists || many == 0 {
		return exists
	}
	size, err := t.size(ctx, wide)
	if err == nil && size <= int64(objectsPerWatch*many) {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.popular[wide]; p != nil {
		p.from = 2 * many
	}
	return false
}

// size returns the number of objects that a scope selects. It is an error if the operator may not watch them.
func (t *Tracker) size(ctx context.Context, of scope) (int64, error) {
	endpoint, err := t.Wire.Endpoint(of.kind, of.form)
	if err != nil {
		return 0, err
	}
	w, total := &watch{scope: of, tracker: t}, int64(0)
	for _, namespace := range w.namespaces() {
		count, err := w.count(ctx, endpoint, namespace)
		if err != nil {
			return 0, err
		}
		total += count
	}
	return total, nil
}

// count returns the number of objects in a namespace. It is an error if the operator may not watch them.
func (w *watch) count(ctx context.Context, endpoint resourceclient.Endpoint, namespace string) (int64, error) {
	options := metav1.ListOptions{Limit: 1}
	w.narrow(&options)
	list, err := endpoint.List(ctx, namespace, options)
	if err != nil {
		return 0, err
	}
	about, err := meta.ListAccessor(list)
	if err != nil {
		return 0, err
	}
	options = metav1.ListOptions{ResourceVersion: about.GetResourceVersion()}
	w.narrow(&options)
	opened, err := endpoint.Watch(ctx, namespace, options)
	if err != nil {
		return 0, err
	}
	opened.Stop()
	count := int64(meta.LenList(list))
	if rest := about.GetRemainingItemCount(); rest != nil {
		count += *rest
	}
	return count, nil
}
