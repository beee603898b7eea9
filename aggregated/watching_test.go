package aggregated

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What happens between the beginning of a watch and its first look is told.
func TestAWatchBeginsWithoutAGap(t *testing.T) {
	t.Parallel()
	r := &told{}
	r.list = func() []*corev1.ConfigMap {
		if r.listener == nil {
			t.Fatal("listed before anybody listens: what changes in between is lost")
		}
		r.listener.Changed(configMap("a", "2"))
		r.listener.Changed(configMap("b", "3"))
		return []*corev1.ConfigMap{configMap("a", "1")}
	}
	seen := r.watched(t)
	expect(t, seen, "ADDED a 1", "MODIFIED a 2", "ADDED b 3")
	r.listener.Changed(configMap("b", "3")) // nothing new
	r.listener.Gone(configMap("c", "1"))    // nobody knew of it
	r.listener.Gone(configMap("b", "4"))
	expect(t, seen, "DELETED b 4")
}

// A client that continues at a version has to list again, because deletions since then are not known. One that begins does not.
func TestAWatchThatContinues(t *testing.T) {
	t.Parallel()
	for version, expires := range map[string]bool{"": false, "0": false, "5": true} {
		for _, initial := range []bool{false, true} {
			seen, err := (&told{}).storage().Watch(t.Context(), &internalversion.ListOptions{ResourceVersion: version, SendInitialEvents: &initial})
			if apierrors.IsResourceExpired(err) != (expires && !initial) {
				t.Errorf("at the version %q, with initial events %t: %v", version, initial, err)
			}
			if err == nil {
				seen.Stop()
			}
		}
	}
}

// A client that continues after the initial events has to list again, too.
func TestTheBookmarkCannotBeContinued(t *testing.T) {
	t.Parallel()
	initial := true
	storage := (&told{}).storage()
	seen, err := storage.Watch(t.Context(), &internalversion.ListOptions{AllowWatchBookmarks: true, SendInitialEvents: &initial})
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Stop()
	event := <-seen.ResultChan()
	mark, ok := event.Object.(*corev1.ConfigMap)
	if event.Type != watch.Bookmark || !ok {
		t.Fatalf("the first event is %+v", event)
	}
	if _, err := storage.Watch(t.Context(), &internalversion.ListOptions{ResourceVersion: mark.ResourceVersion}); !apierrors.IsResourceExpired(err) {
		t.Errorf("at the version %q: %v", mark.ResourceVersion, err)
	}
}

// A role may tell of all that there is before it returns.
func TestAWatcherMayTellOfWhatThereIs(t *testing.T) {
	t.Parallel()
	const many = 5 * pending
	r := &told{}
	var all []string
	r.watch = func() error {
		for i := range many {
			r.listener.Changed(configMap(fmt.Sprint(i), "1"))
			all = append(all, fmt.Sprintf("ADDED %d 1", i))
		}
		return nil
	}
	expect(t, r.watched(t), all...)
}

// Nobody waits for a client that does not take what it is told: it has to begin again.
func TestASlowClientLosesItsWatch(t *testing.T) {
	t.Parallel()
	r := &told{list: func() []*corev1.ConfigMap { return []*corev1.ConfigMap{configMap("a", "0")} }}
	seen := r.watched(t)
	for i := range 2 * pending {
		r.listener.Changed(configMap("a", fmt.Sprint(i+1)))
	}
	expect(t, seen, "ADDED a 0", "ERROR Expired")
	closed(t, seen)
}

// Why a watch ends is told, if it is known.
func TestAWatchEnds(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]error{"": nil, "ERROR InternalError": errors.New("the line is cut")} {
		r := &told{}
		seen := r.watched(t)
		r.listener.Changed(configMap("a", "1"))
		r.listener.Ended(reason)
		r.listener.Ended(errors.New("a second time"))
		r.listener.Changed(configMap("a", "2"))
		expect(t, seen, strings.Split(strings.TrimSuffix("ADDED a 1,"+name, ","), ",")...)
		closed(t, seen)
	}
}

// Who cannot be told of changes hears so at once.
func TestAWatchIsRefused(t *testing.T) {
	t.Parallel()
	r := &told{watch: func() error { return errors.New("no line") }}
	if _, err := r.storage().Watch(t.Context(), nil); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "no line") {
		t.Errorf("refused with %v", err)
	}
}

// told is a Watcher that tells what a test has it tell.
type told struct {
	listener Listener[*corev1.ConfigMap]
	watch    func() error
	list     func() []*corev1.ConfigMap
}

func (r *told) Get(context.Context, client.ObjectKey) (*corev1.ConfigMap, error) {
	return nil, ErrNotFound
}

func (r *told) List(context.Context, string) ([]*corev1.ConfigMap, error) {
	if r.list == nil {
		return nil, nil
	}
	return r.list(), nil
}

func (r *told) Watch(_ context.Context, _ string, listener Listener[*corev1.ConfigMap]) error {
	r.listener = listener
	if r.watch == nil {
		return nil
	}
	return r.watch()
}

func (r *told) storage() *watching[*corev1.ConfigMap] {
	return &watching[*corev1.ConfigMap]{of: &reading[*corev1.ConfigMap]{reader: r}, watcher: r}
}

func (r *told) watched(t *testing.T) watch.Interface {
	t.Helper()
	seen, err := r.storage().Watch(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(seen.Stop)
	return seen
}

func configMap(name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
}

// expect takes events, written as TYPE NAME VERSION, or ERROR REASON.
func expect(t *testing.T, seen watch.Interface, want ...string) {
	t.Helper()
	for _, one := range want {
		event, open := next(t, seen, one)
		if got := shown(event); !open || got != one {
			t.Fatalf("told %q, want %q", got, one)
		}
	}
}

// closed expects the end of a watch.
func closed(t *testing.T, seen watch.Interface) {
	t.Helper()
	if event, open := next(t, seen, "the end"); open {
		t.Errorf("told %s after the end", shown(event))
	}
}

func next(t *testing.T, seen watch.Interface, want string) (watch.Event, bool) {
	t.Helper()
	select {
	case event, open := <-seen.ResultChan():
		return event, open
	case <-time.After(time.Minute):
		t.Fatalf("nothing is told: want %s", want)
		return watch.Event{}, false
	}
}

func shown(event watch.Event) string {
	switch object := event.Object.(type) {
	case *corev1.ConfigMap:
		return fmt.Sprint(event.Type, " ", object.Name, " ", object.ResourceVersion)
	case *metav1.Status:
		return fmt.Sprint(event.Type, " ", object.Reason)
	case runtime.Object:
		return fmt.Sprintf("%s %T", event.Type, object)
	}
	return string(event.Type)
}
