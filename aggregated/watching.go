package aggregated

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watching tells clients of changes.
type watching[T client.Object] struct {
	of      *reading[T]
	watcher Watcher[T]
}

// pending is how many changes may wait for a client to take them before the role is held up.
const pending = 100

// Watch implements rest.Watcher: it begins with what there is, whatever version of it a client
// knows, which clients take for what it is.
func (w *watching[T]) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	ctx, cancel := context.WithCancel(ctx)
	one := &watched[T]{
		storage: w, selects: selectionOf(options), end: cancel, known: map[types.NamespacedName]string{},
		results: make(chan watch.Event), changes: make(chan change[T], pending),
		bookmark: options != nil && options.AllowWatchBookmarks && options.SendInitialEvents != nil && *options.SendInitialEvents,
	}
	go one.run(ctx)
	return one, nil
}

// change is one that a role told.
type change[T client.Object] struct {
	object T
	gone   bool
}

// watched is one client's watch.
type watched[T client.Object] struct {
	storage  *watching[T]
	selects  selection
	bookmark bool // tells when all that there is was sent
	end      context.CancelFunc
	known    map[types.NamespacedName]string // versions of what the client knows
	changes  chan change[T]
	results  chan watch.Event
}

// Stop implements watch.Interface.
func (w *watched[T]) Stop() { w.end() }

// ResultChan implements watch.Interface.
func (w *watched[T]) ResultChan() <-chan watch.Event { return w.results }

// run listens first, then lists, so that no change falls between the two.
func (w *watched[T]) run(ctx context.Context) {
	defer close(w.results)
	defer w.end()
	var listening sync.WaitGroup
	defer listening.Wait()
	ended := make(chan error, 1)
	listening.Go(func() {
		ended <- w.storage.watcher.Watch(ctx, request.NamespaceValue(ctx), func(object T, gone bool) {
			select {
			case w.changes <- change[T]{object, gone}:
			case <-ctx.Done():
			}
		})
	})
	defer w.end() // before it is waited for
	if err := w.begin(ctx); err != nil {
		w.fail(ctx, err)
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-ended:
			w.fail(ctx, err)
			return
		case c := <-w.changes:
			w.tell(ctx, c.object, c.gone)
		}
	}
}

// begin sends what there is.
func (w *watched[T]) begin(ctx context.Context) error {
	objects, err := w.storage.of.reader.List(ctx, request.NamespaceValue(ctx))
	if err != nil {
		return err
	}
	for _, object := range objects {
		w.tell(ctx, object, false)
	}
	if !w.bookmark {
		return nil
	}
	mark := newOf[T]()
	mark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	w.send(ctx, watch.Bookmark, mark)
	return nil
}

// tell sends what a change is to the client, if it is anything.
func (w *watched[T]) tell(ctx context.Context, object T, gone bool) {
	key := client.ObjectKeyFromObject(object)
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

// fail tells the client why its watch ends. The end of its own context is no failure.
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
