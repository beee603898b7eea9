package shard

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/shardtable"
)

// Label holds the bucket of an object: on owners if the API server cannot select them, and on
// children always.
const Label = plan.ShardLabel

// labeller labels objects that lack the label, in the slots that are worked on. Every member sees
// every such object. There are few of them, and not for long. So no member depends on another one.
type labeller struct {
	*union
	kick chan struct{}

	mu sync.Mutex
	// bare are the objects that lack the label; the value is false for objects whose label has to be removed.
	bare map[string]mark
}

// mark is a change of an object's label.
type mark struct {
	namespace, name, revision string
	uid                       types.UID
	// wrong means that the label is not the object's bucket, and is removed.
	wrong bool
}

func newLabeller(u *union) *labeller {
	return &labeller{union: u, kick: make(chan struct{}, 1), bare: map[string]mark{}}
}

func (l *labeller) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// run labels until ctx ends.
func (l *labeller) run(ctx context.Context) {
	source := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = shardtable.Unlabelled(Label)
			return l.all.ListWithContext(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			o.LabelSelector = shardtable.Unlabelled(Label)
			return l.all.WatchWithContext(ctx, o)
		},
	}
	store := &bareStore{l}
	go toolscache.NewReflectorWithOptions(source, l.example, store, toolscache.ReflectorOptions{}).RunWithContext(ctx)
	for ctx.Err() == nil {
		pause := l.round(ctx)
		select {
		case <-ctx.Done():
		case <-l.kick:
		case <-pause:
		}
	}
}

// round labels all objects that are due. Failures are retried after some time.
func (l *labeller) round(ctx context.Context) (again <-chan time.Time) {
	l.mu.Lock()
	marks := make([]mark, 0, len(l.bare))
	for _, m := range l.bare {
		marks = append(marks, m)
	}
	l.mu.Unlock()
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	failed := false
	var mu sync.Mutex
	for _, m := range marks {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if !l.label(ctx, m) {
				mu.Lock()
				failed = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if failed {
		return time.After(time.Second)
	}
	return nil
}

// label writes one label. It returns false if the caller has to retry.
func (l *labeller) label(ctx context.Context, m mark) bool {
	value := any(shardtable.BucketName(shardtable.Bucket(m.uid)))
	if m.wrong {
		value = nil // the member that holds its slot labels it then
	} else {
		within, leave, ok := l.member.Enter(ctx, m.uid)
		if !ok {
			return !l.member.has(m.uid) // another member's: we are notified if it becomes ours, but not when we may write again
		}
		defer leave()
		ctx = within
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": m.uid, "resourceVersion": m.revision, "labels": map[string]any{Label: value},
	}})
	if err != nil {
		return true
	}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: m.name}}
	object.SetGroupVersionKind(l.kind)
	err = l.member.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(l.member.Operator))
	switch {
	case err == nil || apierrors.IsNotFound(err):
		l.done(m)
		return true
	case apierrors.IsConflict(err):
		return false // the watch delivers a newer version, unless the server refused the write for another reason
	}
	l.member.Log.Error(err, "cannot set the shard label of an object; no replica reconciles it until one can", "kind", l.kind.Kind, "namespace", m.namespace, "name", m.name)
	return false
}

func (l *labeller) done(m mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if key := m.namespace + "/" + m.name; l.bare[key] == m {
		delete(l.bare, key)
	}
}

// wrong schedules the removal of a label that is not the object's bucket.
func (l *labeller) wrong(object client.Object) { l.note(object, true) }

func (l *labeller) note(object client.Object, wrong bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bare[keyOf(object)] = mark{object.GetNamespace(), object.GetName(), object.GetResourceVersion(), object.GetUID(), wrong}
	l.wake()
}

// bareStore records the objects without the label that a reflector delivers.
type bareStore struct{ *labeller }

// Add implements toolscache.ReflectorStore.
func (s *bareStore) Add(o any) error {
	if object, ok := o.(client.Object); ok {
		s.note(object, false)
	}
	return nil
}

// Update implements toolscache.ReflectorStore.
func (s *bareStore) Update(o any) error { return s.Add(o) }

// Delete implements toolscache.ReflectorStore: the object was labeled, or deleted.
func (s *bareStore) Delete(o any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if object, ok := o.(client.Object); ok {
		delete(s.bare, keyOf(object))
	}
	return nil
}

// Replace implements toolscache.ReflectorStore.
func (s *bareStore) Replace(all []any, _ string) error {
	s.mu.Lock()
	maps.DeleteFunc(s.bare, func(_ string, m mark) bool { return !m.wrong })
	s.mu.Unlock()
	for _, o := range all {
		if err := s.Add(o); err != nil {
			return err
		}
	}
	return nil
}

// Resync implements toolscache.ReflectorStore.
func (s *bareStore) Resync() error { return nil }
