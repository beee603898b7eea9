package watches_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/runtime/watches"
	"github.com/operon-framework/operon/local/localtest"
)

// bench is a tracker over an API in memory, with one reader.
type bench struct {
	*testing.T
	*watches.Tracker
	api    *server
	writes *freshness.Children
	queue  *watches.Queue
	queued chan trigger.Cause
}

func newBench(t *testing.T, edit func(*watches.Config), kinds ...schema.GroupVersionKind) *bench {
	t.Helper()
	b := &bench{T: t, api: newServer(t), writes: freshness.NewChildren(), queued: make(chan trigger.Cause, 100)}
	cfg := watches.Config{Wire: b.api.wire(t, kinds...), Scheme: scheme.Scheme, Manager: "test", Writes: b.writes}
	if edit != nil {
		edit(&cfg)
	}
	b.Tracker = watches.New(t.Context(), cfg)
	b.queue = &watches.Queue{Changed: func(_ types.NamespacedName, why trigger.Cause) { b.queued <- why }}
	return b
}

func (b *bench) session() *watches.Session {
	return b.Begin(b.queue, types.NamespacedName{Namespace: "default", Name: "reader"})
}

// end ends a session.
func (b *bench) end(s *watches.Session) {
	b.Helper()
	s.End()
}

// triggered waits for the next trigger, which has to be of this kind and object.
func (b *bench) triggered(kind trigger.Kind, name string) {
	b.Helper()
	select {
	case why := <-b.queued:
		if why.Kind != kind || why.Object.Name != name {
			b.Fatalf("triggered by %s of %s, want %s of %s", why.Kind, why.Object.Name, kind, name)
		}
	case <-time.After(localtest.Patience):
		b.Fatalf("nothing triggered, want %s of %s", kind, name)
	}
}

// children reads the children of the owner o.
func (b *bench) children(s *watches.Session, whole bool) []*plan.Live {
	b.Helper()
	found, err := s.Children(b.Context(), resourceclient.Children{Kind: configKind, Whole: whole}, "o")
	if err != nil {
		b.Fatal(err)
	}
	return found
}

func ofOwner(more ...string) map[string]string {
	set := map[string]string{plan.OwnerLabel: "o"}
	for _, key := range more {
		set[key] = "yes"
	}
	return set
}

func TestChildrenTriggerTheirOwner(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.api.put("default", "a", ofOwner())
	b.api.put("default", "other", map[string]string{plan.OwnerLabel: "p"})
	s := b.session()
	if found := b.children(s, false); len(found) != 1 || found[0].Name != "a" {
		t.Fatalf("the children are %v", found)
	}
	if found := b.children(s, true); len(found) != 1 || found[0].Object == nil {
		t.Fatalf("as a whole, the children are %v", found)
	}
	b.end(s)
	s = b.session()
	b.children(s, false)
	b.end(s) // which ends the other watch
	if b.Watches() != 1 {
		t.Errorf("%d watches are open, want 1", b.Watches())
	}
	b.api.put("default", "a", ofOwner())                                            // which is the same to a plan
	b.api.put("default", "other", map[string]string{plan.OwnerLabel: "p", "x": ""}) // which nobody reads
	b.api.put("default", "b", ofOwner())
	b.triggered(trigger.ChildAppeared, "b")
	b.api.put("default", "b", ofOwner(plan.ManagedByLabel))
	b.triggered(trigger.ChildChanged, "b")
	b.api.put("default", "b", nil)
	b.triggered(trigger.ChildGone, "b")
	b.api.remove("default", "a")
	b.triggered(trigger.ChildGone, "a")
	b.end(b.session())
	if b.Watches() != 0 {
		t.Errorf("%d watches are open after a reconcile that read nothing", b.Watches())
	}
}

// A tenant of another namespace can label objects like children. They do not trigger the owner, unless the owner is known
// to have children there.
func TestChildrenElsewhereTriggerIfKnown(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	s := b.session()
	if _, err := s.Children(t.Context(), resourceclient.Children{Kind: configKind}, "o", "known"); err != nil {
		t.Fatal(err)
	}
	b.end(s)
	b.api.put("unknown", "planted", ofOwner())
	b.api.put("known", "child", ofOwner())
	b.triggered(trigger.ChildAppeared, "child")
	s = b.session()
	b.children(s, false)
	b.end(s) // it is no longer known
	b.api.put("known", "child", nil)
	b.api.put("default", "own", ofOwner())
	b.triggered(trigger.ChildAppeared, "own")
}

// The echo of an own write does not trigger, whether the watch delivers it before or after the response. A change of the
// child by another writer does.
func TestOwnWritesDoNotTrigger(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	s := b.session()
	b.children(s, false)
	live := &plan.Live{Kind: configKind, Namespace: "default", Name: "a", UID: "uid of a", Marks: plan.Marks{Owner: "o"}}
	write := b.writes.Begin(live.ID(), 0)
	live.ResourceVersion = b.api.put("default", "a", ofOwner())
	b.api.put("default", "b", ofOwner())
	b.triggered(trigger.ChildAppeared, "b") // and so a was delivered
	write.Wrote(live)
	if kept := b.writes.Kept(); kept > 0 {
		t.Errorf("%d writes are held", kept)
	}
	write = b.writes.Begin(live.ID(), 0)
	b.api.put("default", "a", ofOwner(plan.ManagedByLabel))
	b.api.put("default", "c", ofOwner())
	b.triggered(trigger.ChildAppeared, "c")
	write.Failed()
	b.triggered(trigger.ChildChanged, "a")

	brief := *live
	brief.Name, brief.UID, brief.ResourceVersion = "brief", "brief", b.api.put("default", "brief", nil)
	b.writes.Begin(brief.ID(), 0).Wrote(&brief) // it is no longer selected when the watch receives it
	b.api.put("default", "d", ofOwner())
	for _, want := range []trigger.Kind{trigger.ChildGone, trigger.ChildAppeared} {
		b.triggered(want, map[trigger.Kind]string{trigger.ChildGone: "brief", trigger.ChildAppeared: "d"}[want])
	}
}

func TestReadsTrigger(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.api.put("default", "a", map[string]string{"color": "red"})
	s := b.session()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	if found, err := s.Get(t.Context(), object); err != nil || !found || object.UID != "uid of a" {
		t.Fatalf("%v is read: %v, %v", object, found, err)
	}
	if found, err := s.Get(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "none"}}); err != nil || found {
		t.Errorf("an object that does not exist is found: %v", err)
	}
	b.end(s)
	b.api.put("default", "a", map[string]string{"color": "blue"})
	b.triggered(trigger.ReadChanged, "a")
	b.api.put("default", "none", nil)
	b.triggered(trigger.ReadAppeared, "none")

	s = b.session()
	selector, err := labels.Parse("color in (red, blue)")
	if err != nil {
		t.Fatal(err)
	}
	for name, selection := range map[string]watches.Selection{
		"by labels":          {Labels: map[string]string{"color": "blue"}},
		"in a namespace":     {Namespace: "default", Labels: map[string]string{"color": "blue"}},
		"by a selector":      {Selector: selector},
		"of everything":      {Everything: true, Namespace: "default"},
		"by both, elsewhere": {Namespace: "elsewhere", Selector: selector, Labels: map[string]string{"color": "blue"}},
	} {
		list, want := &corev1.ConfigMapList{}, map[string]int{"of everything": 2, "by both, elsewhere": 0}
		if err := s.List(t.Context(), list, selection); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if count, listed := want[name]; len(list.Items) != count && (listed || len(list.Items) != 1) {
			t.Errorf("%s: %d objects are listed", name, len(list.Items))
		}
	}
	b.end(s)
	b.api.remove("default", "a")
	b.triggered(trigger.ReadGone, "a")
	err = s.List(t.Context(), &corev1.ConfigMapList{}, watches.Selection{})
	if _, unbounded := errors.AsType[*watches.UnboundedError](err); !unbounded || err.Error() == "" {
		t.Errorf("a list of a whole kind: %v", err)
	}
	if _, err := s.Get(t.Context(), &corev1.ConfigMap{}); err == nil {
		t.Error("an object without a name is read")
	}
	if _, err := s.Get(t.Context(), &unstructured.Unstructured{}); err == nil {
		t.Error("an object without a kind is read")
	}
}

// Everything in a namespace can be read from one watch of all namespaces. Changes elsewhere do not trigger its readers.
func TestSharedWatch(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for _, at := range []types.NamespacedName{{Namespace: "elsewhere", Name: "c"}, {Namespace: "default", Name: "b"}, {Namespace: "default", Name: "a"}} {
		b.api.put(at.Namespace, at.Name, map[string]string{"color": "red"})
	}
	names := func(s *watches.Session, namespace string) (names []string) {
		list := &corev1.ConfigMapList{}
		if err := s.List(t.Context(), list, watches.Selection{Namespace: namespace, Everything: true, Shared: true}); err != nil {
			t.Fatal(err)
		}
		for _, one := range list.Items {
			names = append(names, one.Name)
		}
		return names
	}
	s := b.session()
	for namespace, want := range map[string][]string{"default": {"a", "b"}, "elsewhere": {"c"}, "empty": nil, "": {"a", "b", "c"}} {
		if got := names(s, namespace); !slices.Equal(got, want) {
			t.Errorf("in %q, %v are listed, want %v", namespace, got, want)
		}
	}
	b.end(s)
	if b.Watches() != 1 {
		t.Errorf("%d watches are open, want 1", b.Watches())
	}
	s = b.session()
	names(s, "default")
	b.end(s)
	b.api.put("elsewhere", "d", nil)
	b.api.put("default", "e", nil)
	b.triggered(trigger.ReadAppeared, "e")
	b.end(b.session())
	if b.Watches() != 0 {
		t.Errorf("%d watches are open without readers", b.Watches())
	}
}

// Objects are copied, unless the reader says that it does not change them.
func TestUncopiedList(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.api.put("default", "a", map[string]string{"color": "red"})
	s := b.session()
	read := func(uncopied bool) map[string]string {
		list := &corev1.ConfigMapList{}
		if err := s.List(t.Context(), list, watches.Selection{Namespace: "default", Everything: true, Uncopied: uncopied}); err != nil || len(list.Items) != 1 {
			t.Fatalf("%d objects are listed: %v", len(list.Items), err)
		}
		return list.Items[0].Labels
	}
	held := read(true)
	read(false)["color"] = "blue"
	if held["color"] != "red" {
		t.Error("a reader that gets copies changes what is held")
	}
	held["color"] = "green"
	if read(true)["color"] != "green" {
		t.Error("the labels are copied")
	}
}

// A kind that the cluster lacks has no objects until it appears.
func TestAKindThatComes(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, widgetKind)
	b.api.refuse("widgets", http.StatusNotFound)
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(widgetKind)
	widget.SetNamespace("default")
	widget.SetName("w")
	s := b.session()
	if found, err := s.Get(t.Context(), widget); err != nil || found {
		t.Errorf("an object of a missing kind is found: %v", err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(widgetKind)
	if err := s.List(t.Context(), list, watches.Selection{Everything: true}); err != nil {
		t.Error(err)
	}
	_, err := s.Children(t.Context(), resourceclient.Children{Kind: widgetKind}, "o")
	if _, missing := errors.AsType[*resourceclient.MissingKindError](err); !missing {
		t.Errorf("children of a missing kind: %v", err)
	}
	b.end(s)
	b.api.refuse("widgets", 0)
	b.triggered(trigger.ReadAppeared, "")
	b.end(b.session())
}

// A missing permission is an error of the read; one that is withdrawn ends the watch and triggers.
func TestPermissions(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.api.refuse("configmaps", http.StatusForbidden)
	kind := resourceclient.Children{Kind: configKind}
	if _, err := b.session().Children(t.Context(), kind, "o"); !apierrors.IsForbidden(err) {
		t.Errorf("without permission: %v", err)
	}
	b.api.refuse("configmaps", 0)
	b.children(b.session(), false)
	b.api.refuse("configmaps", http.StatusForbidden)
	b.triggered(trigger.ReadGone, "")
	if b.Watches() != 0 {
		t.Errorf("%d watches are open", b.Watches())
	}
}

// A watch covers the namespaces of the operator and the children of a shard; other writes wait for no watch.
func TestWhatWatchesCover(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(cfg *watches.Config) {
		cfg.Namespaces = []string{"default", "other"}
		cfg.Shard = func(owner types.UID) string { return "shard=" + string(owner) }
	})
	b.api.put("default", "a", map[string]string{plan.OwnerLabel: "o", "shard": "o"})
	if found := b.children(b.session(), false); len(found) != 1 {
		t.Errorf("the children are %v", found)
	}
	for name, live := range map[string]*plan.Live{
		"its own":         {Kind: configKind, Namespace: "other", Name: "x", Marks: plan.Marks{Owner: "o"}},
		"another shard's": {Kind: configKind, Namespace: "other", Name: "y", Marks: plan.Marks{Owner: "p"}},
		"elsewhere":       {Kind: configKind, Namespace: "elsewhere", Name: "x", Marks: plan.Marks{Owner: "o"}},
		"of another kind": {Kind: widgetKind, Namespace: "other", Name: "x", Marks: plan.Marks{Owner: "o"}},
	} {
		before := b.writes.Kept()
		live.UID, live.ResourceVersion = "new", "1000"
		b.writes.Begin(live.ID(), 0).Wrote(live)
		if held := b.writes.Kept() - before; (held > 0) != (name == "its own") {
			t.Errorf("%s: %d writes are held", name, held)
		}
	}
	found, err := b.session().Get(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	if found || err != nil {
		t.Errorf("an object without a namespace is found: %v", err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(configKind)
	if err := b.session().List(t.Context(), list, watches.Selection{Namespace: "elsewhere", Everything: true}); err != nil {
		t.Error(err)
	}
}

// A read stops waiting if the reconcile is canceled, and soon after the operator has to stop.
func TestAReadThatIsCanceled(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.session().Get(watches.Until(ctx, ctx), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}); err == nil {
		t.Error("a canceled read succeeded")
	}
}
