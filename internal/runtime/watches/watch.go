package watches

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// watch holds the objects of a scope, and its readers.
type watch struct {
	scope
	tracker *Tracker
	life    context.Context
	stop    context.CancelFunc
	// readers are the readers by what they read; the tracker's lock guards them.
	readers map[string][]reader

	starting sync.Mutex // held while the informers start
	started  bool
	// informers are one informer, or one for each of the operator's namespaces.
	informers []toolscache.SharedIndexInformer
}

// watch returns the started watch of a scope. The reader is registered before anything
// is read, so that no change in between is missed.
func (s *Session) watch(ctx context.Context, sc scope, index string) (*watch, error) {
	w := s.use(sc, index)
	err := w.start(ctx)
	if isMissing(err) {
		s.lack(sc.kind)
	}
	return w, err
}

func (s *Session) use(sc scope, index string) *watch {
	t := s.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.watches[sc]
	if w == nil {
		life, stop := context.WithCancel(t.life)
		w = &watch{scope: sc, tracker: t, life: life, stop: stop, readers: map[string][]reader{}}
		t.watches[sc] = w
		t.count(sc, 1)
	}
	u := use{w, index}
	t.register(u, s.reader)
	if !slices.Contains(s.used, u) {
		s.used = append(s.used, u)
	}
	return w
}

// all returns the readers, in any order. The tracker's lock is held.
func (w *watch) all() []reader {
	var all []reader
	for _, readers := range w.readers {
		all = append(all, readers...)
	}
	return all
}

// start starts the informers, once, and waits until they have listed the existing objects.
func (w *watch) start(ctx context.Context) error {
	w.starting.Lock()
	defer w.starting.Unlock()
	if w.started {
		return nil
	}
	endpoint, err := w.tracker.Wire.Endpoint(w.kind, w.form)
	if err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, timing.syncDeadline)
	defer cancel()
	defer whenStopped(ctx, cancel)()
	running, abort := context.WithCancel(w.life)
	for _, namespace := range w.namespaces() {
		informer, err := w.inform(patient, running, endpoint, namespace)
		if err != nil {
			abort()
			w.informers = nil
			return err
		}
		w.informers = append(w.informers, informer)
	}
	w.started = true
	context.AfterFunc(w.life, abort)
	return nil
}

// namespaces returns the namespaces to watch; "" means all.
func (w *watch) namespaces() []string {
	if w.namespace != "" || len(w.tracker.Namespaces) == 0 || !w.tracker.Wire.Namespaced(w.kind) {
		return []string{w.namespace}
	}
	return w.tracker.Namespaces
}

// inform starts an informer, which runs until running ends, and waits until it has listed the
// existing objects and watches them.
func (w *watch) inform(ctx, running context.Context, endpoint resourceclient.Endpoint, namespace string) (toolscache.SharedIndexInformer, error) {
	first := newOpening(w.kind.Kind)
	informer := toolscache.NewSharedIndexInformerWithOptions(w.source(endpoint, namespace, first), endpoint.Example(), toolscache.SharedIndexInformerOptions{
		Indexers:          toolscache.Indexers{selected: func(o any) ([]string, error) { return w.indexes(o), nil }},
		ObjectDescription: w.kind.Kind,
	})
	if err := informer.SetTransform(w.hold); err != nil {
		return nil, err
	}
	failed := func(ctx context.Context, reflector *toolscache.Reflector, err error) {
		if !first.end(err) && running.Err() == nil {
			w.failed(ctx, reflector, err)
		}
	}
	if err := informer.SetWatchErrorHandlerWithContext(failed); err != nil {
		return nil, err
	}
	if _, err := informer.AddEventHandler(w.handler(running, informer.GetStore(), namespace)); err != nil {
		return nil, err
	}
	go informer.RunWithContext(running)
	if err := first.wait(ctx, w.life, informer.HasSyncedChecker().Done()); err != nil {
		return nil, w.explain(err)
	}
	return informer, nil
}

// selected is the index of an informer by the selections of readers. Without it, each read would
// check every object of the kind.
const selected = "selected"

// source lists and watches the objects of the scope in a namespace. It reports the first watch.
func (w *watch) source(endpoint resourceclient.Endpoint, namespace string, first *opening) *toolscache.ListWatch {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			w.narrow(&options)
			return endpoint.List(ctx, namespace, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			w.narrow(&options)
			opened, err := endpoint.Watch(ctx, namespace, options)
			if err == nil {
				first.watches()
			}
			return opened, err
		},
	}
}

// explain: a "not found" for a kind that existed means that the kind itself was removed.
func (w *watch) explain(err error) error {
	if apierrors.IsNotFound(err) {
		return &resourceclient.MissingKindError{Kind: w.kind}
	}
	return err
}

// failed ends a watch if its kind was removed or the operator is no longer permitted to read it. All
// other failures may be temporary, and the informer continues.
func (w *watch) failed(ctx context.Context, reflector *toolscache.Reflector, err error) {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) {
		go w.tracker.lose(w) // the informer waits for this function
		return
	}
	toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
}

// untilKey is the context key of the end of waiting for watches.
type untilKey struct{}

// Until returns a context in which calls wait only briefly for a watch to start after stop has ended, even though
// the context itself continues.
func Until(ctx, stop context.Context) context.Context {
	return context.WithValue(ctx, untilKey{}, stop)
}

// whenStopped calls cancel some time after the context's Until ends, unless it is canceled before.
func whenStopped(ctx context.Context, cancel context.CancelFunc) (off func() bool) {
	stop, ok := ctx.Value(untilKey{}).(context.Context)
	if !ok {
		return func() bool { return true }
	}
	return context.AfterFunc(stop, func() {
		timer := time.AfterFunc(timing.lastPatience, cancel)
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
}
