package operontest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

// storage does what an API server does besides storing an object: it sets the identity, the creation time and the generation.
type storage struct {
	testing.ObjectTracker
	time clock.PassiveClock
	// admit sets defaults in an object that will be stored, or rejects it.
	admit func(runtime.Object) error
	last  int // number of the last created object
}

// Create stores a new object.
func (s *storage) Create(resource schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.CreateOptions) error {
	made, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	s.identify(made)
	if err := s.admit(object); err != nil {
		return err
	}
	return s.ObjectTracker.Create(resource, object, namespace, options...)
}

// Update stores a new state of an object.
func (s *storage) Update(resource schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.UpdateOptions) error {
	if err := errors.Join(s.admit(object), s.count(resource, object, namespace)); err != nil {
		return err
	}
	return s.ObjectTracker.Update(resource, object, namespace, options...)
}

// Patch stores a new state of an object.
func (s *storage) Patch(resource schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.PatchOptions) error {
	if err := errors.Join(s.admit(object), s.count(resource, object, namespace)); err != nil {
		return err
	}
	return s.ObjectTracker.Patch(resource, object, namespace, options...)
}

// Apply stores the fields that a field manager applies to an object.
func (s *storage) Apply(resource schema.GroupVersionResource, wanted runtime.Object, namespace string, options ...metav1.PatchOptions) error {
	name, err := meta.Accessor(wanted)
	if err != nil {
		return err
	}
	before, missing := s.Get(resource, namespace, name.GetName())
	if err := s.ObjectTracker.Apply(resource, wanted, namespace, options...); err != nil {
		return err
	}
	after, err := s.Get(resource, namespace, name.GetName())
	if err != nil {
		return err
	}
	if err := s.admit(after); err != nil {
		return errors.Join(err, s.undo(resource, before, missing, namespace, name.GetName()))
	}
	object, err := meta.Accessor(after)
	if err != nil {
		return err
	}
	if missing != nil {
		s.identify(object)
	}
	if missing == nil && !sameSpec(before, after) {
		object.SetGeneration(object.GetGeneration() + 1)
	}
	return s.put(resource, after, namespace, name.GetName())
}

// put stores an object unchanged. It already contains the owners of its fields.
func (s *storage) put(resource schema.GroupVersionResource, object runtime.Object, namespace, name string) error {
	if err := s.Delete(resource, namespace, name); err != nil {
		return err
	}
	return s.Add(object)
}

// undo reverts an apply that was rejected.
func (s *storage) undo(resource schema.GroupVersionResource, before runtime.Object, missing error, namespace, name string) error {
	if missing != nil {
		return s.Delete(resource, namespace, name)
	}
	return s.put(resource, before, namespace, name)
}

func (s *storage) identify(made metav1.Object) {
	s.last++
	made.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.last)))
	made.SetCreationTimestamp(metav1.NewTime(s.time.Now()))
	made.SetGeneration(1)
}

// count sets the generation of a state that will be stored.
func (s *storage) count(resource schema.GroupVersionResource, object runtime.Object, namespace string) error {
	after, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	before, err := s.Get(resource, namespace, after.GetName())
	if err != nil {
		return err
	}
	was, err := meta.Accessor(before)
	if err != nil {
		return err
	}
	after.SetGeneration(was.GetGeneration())
	if !sameSpec(before, object) || was.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil {
		after.SetGeneration(was.GetGeneration() + 1)
	}
	return nil
}

// sameSpec reports whether two states differ only in metadata and status.
func sameSpec(a, b runtime.Object) bool {
	return reflect.DeepEqual(specOf(a), specOf(b))
}

func specOf(object runtime.Object) map[string]any {
	fields := map[string]any{}
	data, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		panic(fmt.Sprintf("a stored object is not JSON: %v", err)) // it was decoded from JSON
	}
	for _, other := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(fields, other)
	}
	return fields
}
