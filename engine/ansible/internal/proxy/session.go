package proxy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/engine"
)

// Session records the requests of a run.
type Session struct {
	Owner Owner
	// Ignored contains the kinds that are not recorded.
	Ignored []schema.GroupVersionKind
	// Managed contains the kinds of the operator's custom resources. Their status does not count as read: runs write it, so
	// two objects whose runs read each other would be run without end.
	Managed []schema.GroupKind

	proxy *Proxy
	token string

	mu sync.Mutex
	// task counts the tasks. withStatus means that the current one may use the status of what it reads.
	task       int
	withStatus bool
	objects    map[objectKey]*seen
	// usesOwner means that a task may use the metadata of the owner.
	usesOwner bool
	// open is the reason why the record is not complete.
	open string
	// missed means that the run may have used an object that is not recorded.
	missed bool
	// beyond contains the objects that the run created where garbage collection does not reach them.
	beyond []string
}

// objectKey identifies an object, or a list if it has no name.
type objectKey struct {
	kind                      schema.GroupVersionKind
	namespace, name, selector string
}

// Begin says that the following requests come from the next task, and whether it may use the status of what it reads.
func (s *Session) Begin(withStatus bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task++
	s.withStatus = withStatus
}

// ReadOwner reads the owner for tasks that use it. It is nil if it does not exist.
func (s *Session) ReadOwner(ctx context.Context) (*unstructured.Unstructured, error) {
	object, err := s.proxy.owner(ctx, s.Owner)
	if err != nil || object == nil {
		return nil, err
	}
	s.Begin(true)
	s.mu.Lock()
	s.usesOwner = true
	a := &access{session: s, key: s.Owner.key(), task: s.task}
	s.mu.Unlock()
	a.read(s.Owner.stateOf(meta.AsPartialObjectMetadata(object)))
	object.SetManagedFields(nil)
	return object, nil
}

// opens records why the result of the run may depend on more than its record. The first reason is kept.
func (s *Session) opens(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.missed = cmp.Or(s.open, why), true
}

// miss says that a request is not recorded, because it failed.
func (s *Session) miss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed = true
}

// Result returns the record of the run, ordered, and the reason why it is not complete.
func (s *Session) Result(ctx context.Context) (objects []engine.RunObject, open string, failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, e := range s.objects {
		if key == s.Owner.key() && !s.usesOwner {
			continue
		}
		o := key.object()
		var err error
		if e.unknown {
			e.state, err = s.proxy.live(ctx, s.Owner, key)
		}
		if apierrors.IsForbidden(err) {
			s.open, s.missed = cmp.Or(s.open, Place(o)+" cannot be read: "+err.Error()), true
			continue
		}
		if err != nil {
			return nil, "", err
		}
		o.WithStatus, o.Owned, o.Version = e.withStatus, e.state.owned, e.state.version(e.withStatus)
		if e.torn {
			o.Version = tornVersion
		}
		objects = append(objects, o)
	}
	slices.SortFunc(objects, func(a, b engine.RunObject) int { return strings.Compare(Place(a), Place(b)) })
	return objects, s.open, nil
}

// object returns the record of an object or list, without its version.
func (k objectKey) object() engine.RunObject {
	return engine.RunObject{APIVersion: k.kind.GroupVersion().String(), Kind: k.kind.Kind, Namespace: k.namespace, Name: k.name, Selector: k.selector}
}

// Place returns a text that identifies an object or list, for people.
func Place(o engine.RunObject) string {
	switch {
	case o.Name != "":
		return o.Kind + " " + encodedOwner(o.Namespace, o.Name)
	case o.Selector != "":
		return fmt.Sprintf("list of %s in %q with %s", o.Kind, o.Namespace, o.Selector)
	}
	return fmt.Sprintf("list of %s in %q", o.Kind, o.Namespace)
}

// Beyond returns the objects that the run created where garbage collection does not reach them.
func (s *Session) Beyond() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.beyond)
	return slices.Compact(s.beyond)
}
