// Package passes keeps what a reconcile of an object finds out, from Compose to Observe. Composers of all kinds use it: Compose decides what exists
// and records why, and Observe writes that into the status when it is known what became of the children. One reconcile of an object runs at a time.
package passes

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Store has what the present reconcile of each object has found out. The zero value is ready for use.
type Store[T any] struct {
	mu  sync.Mutex
	all map[types.UID]*T
}

// Begin keeps and returns what a reconcile adds to. That of an earlier one that did not end is forgotten.
func (s *Store[T]) Begin(of client.Object, pass *T) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[types.UID]*T{}
	}
	s.all[of.GetUID()] = pass
	return pass
}

// End returns what a reconcile has found out, and forgets it. It is nil if the reconcile did not begin.
func (s *Store[T]) End(of client.Object) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	pass := s.all[of.GetUID()]
	delete(s.all, of.GetUID())
	return pass
}
