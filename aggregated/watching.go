package aggregated

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watching sends changes to clients.
type watching[T client.Object] struct {
	of      *reading[T]
	watcher Watcher[T]
}

// Watch implements rest.Watcher: it begins with what there is. It listens first, then lists, so that no change falls between
// the two. A client that continues at a version has to list again: what was deleted since then is not known here.
func (w *watching[T]) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	initial := options != nil && options.SendInitialEvents != nil && *options.SendInitialEvents
	if options != nil && options.ResourceVersion != "" && options.ResourceVersion != "0" && !initial {
		return nil, apierrors.NewResourceExpired("the server keeps no history: list the objects again")
	}
	ctx, cancel := context.WithCancel(ctx)
	one := &watched[T]{
		storage: w, selects: selectionOf(options), end: cancel, known: map[identity]string{},
		results: make(chan watch.Event), changes: newQueue[T](),
		bookmark: initial && options.AllowWatchBookmarks,
	}
	objects, err := one.listen(ctx)
	if err != nil {
		cancel()
		return nil, w.of.told(err, "")
	}
	go one.run(ctx, objects)
	return one, nil
}

// watched is one client's watch.
type watched[T client.Object] struct {
	storage  *watching[T]
	selects  selection
	bookmark bool // send a bookmark after all existing objects
	end      context.CancelFunc
	known    map[identity]string // versions of what the client knows
	changes  *queue[T]
	results  chan watch.Event
}

// identity is what makes two objects the same. Computed objects of several sources may share a name, but not a UID.
type identity struct {
	name types.NamespacedName
	uid  types.UID
}

// Stop implements watch.Interface.
func (w *watched[T]) Stop() { w.end() }

// ResultChan implements watch.Interface.
func (w *watched[T]) ResultChan() <-chan watch.Event { return w.results }

// listen hears of all changes to what it returns.
func (w *watched[T]) listen(ctx context.Context) ([]T, error) {
	namespace := request.NamespaceValue(ctx)
	if err := w.storage.watcher.Watch(ctx, namespace, w.changes); err != nil {
		return nil, err
	}
	objects, err := w.storage.of.reader.List(ctx, namespace)
	w.changes.bound()
	return objects, err
}

// run sends what there is, and the result of it.
func (w *watched[T]) run(ctx context.Context, objects []T) {
	defer close(w.results)
	defer w.end()
	w.begin(ctx, objects)
	for {
		changes, ended, reason := w.changes.take(ctx)
		for _, one := range changes {
			w.tell(ctx, one.object, one.gone)
		}
		if ended {
			w.fail(ctx, reason)
			return
		}
	}
}

// begun is the version at which clients continue that know what there was at the beginning. They have to begin again, see Watch.
const begun = "1"

// begin sends what there is.
func (w *watched[T]) begin(ctx context.Context, objects []T) {
	for _, object := range objects {
		w.tell(ctx, object, false)
	}
	if !w.bookmark {
		return
	}
	mark := newOf[T]()
	mark.SetResourceVersion(begun)
	mark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	w.send(ctx, watch.Bookmark, mark)
}

// tell sends what a change is to the client, if it is anything.
func (w *watched[T]) tell(ctx context.Context, object T, gone bool) {
	key := identity{client.ObjectKeyFromObject(object), object.GetUID()}
	version, knows := w.known[key]
	wants := !gone && w.selects.matches(object)
	switch {
	case !wants && !knows:
		return
	case !wants:
		delete(w.known, key)
		w.send(ctx, watch.Deleted, object)
		return
	case !knows:
		w.send(ctx, watch.Added, object)
	case version == "" || version != object.GetResourceVersion():
		w.send(ctx, watch.Modified, object)
	}
	w.known[key] = object.GetResourceVersion()
}

// fail sends the client the reason why its watch ends. The end of its own context is not a failure.
func (w *watched[T]) fail(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	status, ok := w.storage.of.told(err, "").(apierrors.APIStatus) //nolint:errorlint // told returns nothing else
	if !ok {
		return
	}
	told := status.Status()
	w.send(ctx, watch.Error, &told)
}

func (w *watched[T]) send(ctx context.Context, kind watch.EventType, object runtime.Object) {
	select {
	case w.results <- watch.Event{Type: kind, Object: object}:
	case <-ctx.Done():
	}
}
