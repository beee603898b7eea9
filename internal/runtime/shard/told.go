package shard

import (
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// told is a reflector store that holds no objects: it reports them, and stores only what it needs to report
// those that were deleted while the watch was interrupted.
type told[T client.Object] struct {
	// shown is called with each state of an object, removed with the last one, or what is left of it, and
	// replaced when everything was read.
	shown, removed func(T)
	replaced       func()

	known map[string]T
}

// keyOf returns the key of an object.
func keyOf(object client.Object) string { return object.GetNamespace() + "/" + object.GetName() }

// Add implements toolscache.ReflectorStore.
func (s *told[T]) Add(o any) error {
	object, ok := o.(T)
	if !ok {
		return nil
	}
	if s.known == nil {
		s.known = map[string]T{}
	}
	s.known[keyOf(object)] = object
	s.shown(object)
	return nil
}

// Update implements toolscache.ReflectorStore.
func (s *told[T]) Update(o any) error { return s.Add(o) }

// Delete implements toolscache.ReflectorStore.
func (s *told[T]) Delete(o any) error {
	if object, ok := o.(T); ok {
		delete(s.known, keyOf(object))
		s.removed(object)
	}
	return nil
}

// Replace implements toolscache.ReflectorStore.
func (s *told[T]) Replace(all []any, _ string) error {
	before := s.known
	s.known = map[string]T{}
	for _, o := range all {
		if object, ok := o.(T); ok {
			delete(before, keyOf(object))
			_ = s.Add(o) // it never fails
		}
	}
	for _, object := range before {
		s.removed(object)
	}
	s.replaced()
	return nil
}

// Resync implements toolscache.ReflectorStore.
func (s *told[T]) Resync() error { return nil }

var _ toolscache.ReflectorStore = (*told[client.Object])(nil)
