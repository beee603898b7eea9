package freshness_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/local/localtest"
)

// bench is a client that reads its own writes, from a cache behind a gate.
type bench struct {
	*testing.T
	client.Client
	namespace string
	overlay   *freshness.Overlay
	gate      *localtest.Gate
	direct    client.Client
	// meanwhile is called between a read of the cache and its result.
	meanwhile func()
}

// interrupted is a client whose reads are slow, so that something can happen in the meantime.
type interrupted struct {
	client.Client
	bench *bench
}

func (i interrupted) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	defer i.bench.pass()
	return i.Client.Get(ctx, key, object, options...)
}

func (i interrupted) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	defer i.bench.pass()
	return i.Client.List(ctx, list, options...)
}

func (b *bench) pass() {
	if happens := b.meanwhile; happens != nil {
		b.meanwhile = nil
		happens()
	}
}

func newBench(t *testing.T, more ...string) *bench {
	t.Helper()
	env := localtest.Shared(t)
	namespaces := map[string]cache.Config{env.Namespace: {}}
	for _, name := range more {
		namespaces[name] = cache.Config{}
	}
	b := &bench{T: t, namespace: env.Namespace, overlay: freshness.NewOverlay(scheme.Scheme), gate: &localtest.Gate{Of: func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/"+env.Namespace+"/") }}}
	made, err := cache.New(b.gate.Config(env.Config), cache.Options{Scheme: scheme.Scheme, DefaultNamespaces: namespaces})
	b.must(err)
	held := b.overlay.Cache(made)
	b.must(held.IndexField(t.Context(), &corev1.ConfigMap{}, "size", sizeOf))
	b.direct, err = client.New(env.Config, client.Options{Scheme: scheme.Scheme})
	b.must(err)
	inner, err := client.New(env.Config, client.Options{Scheme: scheme.Scheme, Cache: &client.CacheOptions{Reader: held}})
	b.must(err)
	b.Client = b.overlay.Client(interrupted{inner, b}, held)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- held.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		b.gate.Cut(false)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	held.WaitForCacheSync(ctx) // the cache has started
	b.names()
	short := &metav1.PartialObjectMetadataList{}
	short.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	b.must(b.List(ctx, short))
	return b
}

// sizeOf is an index function.
func sizeOf(o client.Object) []string { return []string{o.GetAnnotations()["size"]} }

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) config(name, color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: b.namespace, Name: name, Labels: map[string]string{"color": color}, Annotations: map[string]string{"size": "small"},
	}}
}

// names returns the names in a list.
func (b *bench) names(options ...client.ListOption) []string {
	b.Helper()
	var list corev1.ConfigMapList
	b.must(b.List(b.Context(), &list, append(options, client.InNamespace(b.namespace))...))
	var names []string
	for _, item := range list.Items {
		if item.Name != "kube-root-ca.crt" {
			names = append(names, item.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (b *bench) lists(want []string, options ...client.ListOption) {
	b.Helper()
	if got := b.names(options...); !slices.Equal(got, want) {
		b.Errorf("a list shows %q, want %q", got, want)
	}
}

// read reads an object, as a Go type and as metadata.
func (b *bench) read(name string) *corev1.ConfigMap {
	b.Helper()
	found, short := &corev1.ConfigMap{}, &metav1.PartialObjectMetadata{}
	short.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	key := client.ObjectKey{Namespace: b.namespace, Name: name}
	b.must(b.Get(b.Context(), key, found))
	b.must(b.Get(b.Context(), key, short))
	if found.ResourceVersion != short.ResourceVersion || short.Kind != "ConfigMap" {
		b.Errorf("as a Go type it is %s, as metadata %s %s", found.ResourceVersion, short.Kind, short.ResourceVersion)
	}
	return found
}

// drained waits until no write is stored any more.
func (b *bench) drained() {
	b.Helper()
	localtest.Eventually(b.T, "the watch to show all writes", func(context.Context) error {
		if kept := b.overlay.Kept(); kept > 0 {
			return fmt.Errorf("%d writes are kept", kept)
		}
		return nil
	})
}

func TestReadsShowOwnWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	red, blue := client.MatchingLabels{"color": "red"}, client.MatchingLabels{"color": "blue"}
	small := client.MatchingFields{"size": "small"}
	b.must(b.Create(t.Context(), b.config("old", "red")))
	b.lists([]string{"old"}, red)
	b.read("old")
	b.drained()

	b.gate.Shut()
	made := b.config("", "red")
	made.GenerateName = "made-"
	b.must(b.Create(t.Context(), made))
	name := made.Name
	b.read(name)
	b.lists([]string{name, "old"}, red)
	b.lists([]string{name, "old"}, small)

	made.Data = map[string]string{"a": "1"}
	b.must(b.Update(t.Context(), made))
	if got := b.read(name).Data["a"]; got != "1" {
		t.Errorf("after an update a=%q", got)
	}
	before := made.DeepCopy()
	made.Labels["color"] = "blue"
	made.Annotations["size"] = "large"
	b.must(b.Patch(t.Context(), made, client.MergeFrom(before)))
	b.lists([]string{"old"}, red)
	b.lists([]string{name}, blue)
	b.lists([]string{"old"}, small)
	b.read("old").Labels["color"] = "green" // the reader owns the object and may change it
	b.lists([]string{"old"}, red)

	applied := corev1ac.ConfigMap(name, b.namespace).WithData(map[string]string{"b": "2"})
	b.must(b.Apply(t.Context(), applied, client.FieldOwner("freshness")))
	if got := b.read(name).Data["b"]; got != "2" {
		t.Errorf("after an apply b=%q", got)
	}

	b.must(b.Delete(t.Context(), b.config("old", "")))
	if b.read("old").DeletionTimestamp == nil {
		t.Error("a deleted object is not shown as being deleted")
	}
	first := b.read("old").UID
	b.must(b.Create(t.Context(), b.config("old", "red")))
	if again := b.read("old"); again.UID == first || again.DeletionTimestamp != nil {
		t.Errorf("an object that was created again is shown as %v", again.ObjectMeta)
	}
	b.gate.Open()
	b.drained()
	b.lists([]string{name}, blue)
	b.lists([]string{"old"}, red)
}

func TestReadsShowOwnWritesWhenTheWatchIsCut(t *testing.T) {
	t.Parallel()
	for name, expired := range map[string]bool{"and goes on": false, "and reads all anew": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.must(b.Create(t.Context(), b.config("a", "red")))
			a := b.read("a")
			b.drained()
			b.gate.Shut()
			a.Data = map[string]string{"n": "1"}
			b.must(b.Update(t.Context(), a))
			b.gate.Cut(expired)
			if got := b.read("a").Data["n"]; got != "1" {
				t.Errorf("n=%q", got)
			}
			b.gate.Open()
			b.drained()
			if got := b.read("a").Data["n"]; got != "1" {
				t.Errorf("afterwards n=%q", got)
			}
		})
	}
}

// An object that another client deletes while the watch is behind is not stored forever.
func TestAnObjectThatSomebodyDeletesGoes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.gate.Shut()
	b.must(b.Create(t.Context(), b.config("brief", "red")))
	b.read("brief")
	b.must(b.direct.Delete(t.Context(), b.config("brief", "")))
	b.gate.Open()
	b.drained()
	localtest.Eventually(t, "the watch to show the deletion", func(context.Context) error {
		if got := b.names(); len(got) > 0 {
			return fmt.Errorf("a list shows %q", got)
		}
		return nil
	})
}

// Dry runs, failed writes, and kinds that are never read are not stored.
func TestOnlyWritesThatMatterAreKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.gate.Shut()
	defer b.gate.Open()
	b.must(b.Create(t.Context(), b.config("dry", "red"), client.DryRunAll))
	if err := b.Create(t.Context(), b.config("No_Name", "red")); err == nil {
		t.Error("a name that cannot be was taken")
	}
	b.must(b.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "unread"}}))
	far := b.config(b.namespace, "red") // the cache does not cover this namespace
	far.Namespace = metav1.NamespaceDefault
	b.must(b.Create(t.Context(), far))
	b.must(b.Delete(t.Context(), far))
	if kept := b.overlay.Kept(); kept > 0 {
		t.Errorf("%d writes are kept", kept)
	}
	b.lists(nil)
}

// Of several namespaces, one may be behind while another one is not.
func TestReadsShowOwnWritesInEachNamespace(t *testing.T) {
	t.Parallel()
	b := newBench(t, metav1.NamespaceDefault)
	b.must(b.Create(t.Context(), b.config("a", "red")))
	b.drained()
	b.gate.Shut()
	defer b.gate.Open()
	b.must(b.Create(t.Context(), b.config("b", "red")))
	far := b.config(b.namespace, "red")
	far.Namespace = metav1.NamespaceDefault
	b.must(b.direct.Create(t.Context(), far))
	defer func() { b.must(b.direct.Delete(context.WithoutCancel(t.Context()), far)) }()
	localtest.Eventually(t, "the watch of the other namespace to go on", func(ctx context.Context) error {
		return b.Get(ctx, client.ObjectKeyFromObject(far), &corev1.ConfigMap{})
	})
	b.lists([]string{"a", "b"})
	b.read("b")
}

// Kinds that the client does not cache are read from the API server, without a watch.
func TestKindsThatAreNotCached(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Client = b.overlay.Client(b.direct, nil, &corev1.Secret{}) // nil: it has no cache to ask for a watch
	var list corev1.SecretList
	b.must(b.List(t.Context(), &list, client.InNamespace(b.namespace)))
	if err := b.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: "none"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("a Secret that does not exist: %v", err)
	}
}

// The watch may show a write after the cache was read. The ledger drops the write then.
func TestAReadShowsOwnWritesWhereTheWatchComesMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must(b.Create(t.Context(), b.config("a", "red")))
	a := b.read("a")
	b.drained()
	arrives := func() {
		b.gate.Open()
		b.drained()
	}
	write := func(n string) {
		b.gate.Shut()
		a.Data = map[string]string{"n": n}
		b.must(b.Update(t.Context(), a))
		b.meanwhile = arrives
	}
	write("1")
	if got := b.read("a").Data["n"]; got != "1" {
		t.Errorf("n=%q, want 1", got)
	}
	write("2")
	var list corev1.ConfigMapList
	b.must(b.List(t.Context(), &list, client.InNamespace(b.namespace), client.MatchingLabels{"color": "red"}))
	if len(list.Items) != 1 || list.Items[0].Data["n"] != "2" {
		t.Errorf("a list shows %v, want one object with n=2", list.Items)
	}
}
