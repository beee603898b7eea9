package watches_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// licensed composes a copy of the Secret named in the data of the spec, and waits for it.
var licensed = boxtest.ComposeContextFunc(func(ctx context.Context, b *boxtest.Box, out *operon.Composition) error {
	name := b.Spec.Data["licence"]
	if name == "" {
		out.Child(boxtest.ConfigMap(b.Name, nil))
		return nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
	found, err := out.Get(ctx, secret)
	if err != nil {
		return err
	}
	if !found {
		out.Wait("NoLicence", "waits for the Secret "+name)
		return nil
	}
	out.Child(boxtest.ConfigMap(b.Name, map[string]string{"licence": string(secret.Data["key"])}))
	return nil
})

// An object that a composer reads by name is watched: it is reconciled when the object is created, changed or deleted. All
// readers share a watch of this one object, which only needs the permission to read this object, and which ends with the last
// reader.
func TestWhatIsReadByNameIsFollowed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	role := w.MayAllBut("nothing")
	w.Change(role, func() {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"acme"}, Verbs: []string{"list", "watch"}})
	})
	limited, watches := boxtest.Watched(w.Config)
	limited.Impersonate.UserName = "limited"
	w.RunAs(limited, licensed)
	data := map[string]string{"licence": "acme"}
	a, b := w.Box("a", data), w.Box("b", data)
	w.Ready(a, metav1.ConditionFalse, "NoLicence", "waits for the Secret acme")

	secret := &corev1.Secret{ObjectMeta: w.Meta("acme"), StringData: map[string]string{"key": "1"}}
	w.Must(w.Client.Create(t.Context(), secret))
	w.IsReady(a)
	w.IsReady(b)
	w.Holds(boxtest.ConfigMap("a", nil), map[string]string{"licence": "1"})
	w.Change(secret, func() { secret.Data["key"] = []byte("2") })
	w.Holds(boxtest.ConfigMap("a", nil), map[string]string{"licence": "2"})
	w.Holds(boxtest.ConfigMap("b", nil), map[string]string{"licence": "2"})

	selected := "/api/v1/namespaces/" + w.Namespace + "/secrets metadata.name=acme"
	watches.Are(t, w.Eventually, selected, 1)
	w.Change(a, func() { a.Spec.Data = nil })
	w.IsReady(a)
	watches.Are(t, w.Eventually, selected, 1)
	w.Must(w.Client.Delete(t.Context(), secret))
	w.Ready(b, metav1.ConditionFalse, "NoLicence", "")
	w.Holds(boxtest.ConfigMap("b", nil), map[string]string{"licence": "2"}) // while it waits, nothing is deleted
	w.Must(w.Client.Delete(t.Context(), b))
	watches.Are(t, w.Eventually, selected, 0)
}

// A kind may be read before it is installed in the cluster, and after it was removed.
func TestAKindThatIsReadComesAndGoes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	group := w.Namespace + ".operon.dev"
	kind := schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Rumour"}
	w.Run(boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(ctx context.Context, b *boxtest.Box, seen *operon.Observed) error {
		list, one := &unstructured.UnstructuredList{}, &unstructured.Unstructured{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind("RumourList"))
		if err := seen.List(ctx, list, client.MatchingLabels{"about": "box"}); err != nil {
			return err
		}
		one.SetGroupVersionKind(kind)
		one.SetName("loud")
		found, err := seen.Get(ctx, one)
		b.Status.Seen = nil
		for _, item := range list.Items {
			b.Status.Seen = append(b.Status.Seen, item.GetName())
		}
		if found {
			b.Status.Seen = append(b.Status.Seen, "got "+one.GetName())
		}
		return err
	}})
	b := w.Box("curious", nil)
	w.IsReady(b)
	rumours := w.customKind(kind)
	loud := &unstructured.Unstructured{}
	loud.SetGroupVersionKind(kind)
	loud.SetNamespace(w.Namespace)
	loud.SetName("loud")
	loud.SetLabels(map[string]string{"about": "box"})
	w.Eventually("the kind to be served", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(w.Client.Create(ctx, loud.DeepCopy()))
	})
	w.Sees(b, "loud", "got loud")
	w.Must(w.Client.Delete(t.Context(), rumours))
	w.Sees(b)
	w.IsReady(b)
}

// customKind installs a kind until the test ends.
func (w *fixture) customKind(kind schema.GroupVersionKind) *unstructured.Unstructured {
	w.Helper()
	plural := strings.ToLower(kind.Kind) + "s"
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + kind.Group},
		"spec": map[string]any{
			"group": kind.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": kind.Kind, "listKind": kind.Kind + "List", "plural": plural, "singular": strings.ToLower(kind.Kind)},
			"versions": []any{map[string]any{
				"name": kind.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	w.Must(w.Client.Create(w.Context(), crd))
	w.Cleanup(func() {
		if err := w.Client.Delete(context.WithoutCancel(w.Context()), crd); client.IgnoreNotFound(err) != nil {
			w.Error(err)
		}
	})
	return crd
}

// Lists may use any selector, in other namespaces, or list everything if this is explicitly requested.
func TestSelectionsOfLists(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one, err := labels.Parse("tier in (web,db),!old")
	w.Must(err)
	selections := map[string][]client.ListOption{
		"a selector":  {client.MatchingLabelsSelector{Selector: one}},
		"a label":     {client.HasLabels{"old"}},
		"everything":  {operon.Everything, client.InNamespace(w.Namespace)},
		"a namespace": {operon.Everything, client.InNamespace("kube-public")},
	}
	w.RunWith(w.Config, operon.Config{Namespaces: []string{w.Namespace, "kube-public"}}, operon.API(boxtest.AddToScheme),
		operon.Manage(boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(ctx context.Context, b *boxtest.Box, seen *operon.Observed) error {
			var list corev1.ServiceAccountList
			if err := seen.List(ctx, &list, nil, selections[b.Spec.Data["by"]]...); err != nil {
				return err
			}
			b.Status.Seen = nil
			for _, item := range list.Items {
				b.Status.Seen = append(b.Status.Seen, item.Name)
			}
			return nil
		}}))
	bySelector, byLabel := w.Box("by-selector", map[string]string{"by": "a selector"}), w.Box("by-label", map[string]string{"by": "a label"})
	everything, elsewhere := w.Box("everything", map[string]string{"by": "everything"}), w.Box("elsewhere", map[string]string{"by": "a namespace"})
	w.Sees(elsewhere, "default")
	web := &corev1.ServiceAccount{ObjectMeta: w.Meta("web")}
	web.Labels = map[string]string{"tier": "web"}
	w.Must(w.Client.Create(t.Context(), web))
	w.Sees(bySelector, "web")
	w.Sees(everything, "default", "web")
	w.Sees(byLabel)
	w.Change(web, func() { web.Labels["old"] = "" })
	w.Sees(byLabel, "web")
	w.Sees(bySelector)
}

// Labels can select cluster-scoped objects, and objects in namespaces outside of the operator's.
func TestLabelsSelectInAnyNamespaceAndInNone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	roots := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: w.Namespace, Labels: map[string]string{"for": w.Namespace}}}
	w.Must(w.Client.Create(t.Context(), roots))
	t.Cleanup(func() { w.Must(w.Client.Delete(w.Afterwards().Context(), roots)) })
	w.Run(boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(ctx context.Context, b *boxtest.Box, seen *operon.Observed) error {
		b.Status.Seen = nil
		named := client.MatchingLabels{corev1.LabelMetadataName: w.Namespace}
		loose := &unstructured.UnstructuredList{}
		loose.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
		for _, read := range []struct {
			list    client.ObjectList
			labels  client.MatchingLabels
			options []client.ListOption
		}{
			{&corev1.NamespaceList{}, named, nil},
			{loose, nil, []client.ListOption{client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(labels.Set(named))}}},
			{&corev1.ConfigMapList{}, client.MatchingLabels{"for": w.Namespace}, []client.ListOption{client.InNamespace("kube-public")}},
		} {
			if err := seen.List(ctx, read.list, read.labels, read.options...); err != nil {
				return err
			}
			b.Status.Seen = append(b.Status.Seen, fmt.Sprintf("%T %d", read.list, meta.LenList(read.list)))
		}
		return nil
	}})
	w.Sees(w.Box("far", nil), "*v1.NamespaceList 1", "*unstructured.UnstructuredList 1", "*v1.ConfigMapList 1")
}

// A permission that is revoked during a watch is reported when the watch has to restart, and the object recovers when the
// permission is granted again.
func TestAPermissionThatIsWithdrawnIsTold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	role := w.MayAllBut("nothing")
	limited, watches := boxtest.Watched(w.Config)
	limited.Impersonate.UserName = "limited"
	w.RunAs(limited, boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("watched", map[string]string{"a": "1"})
	w.IsReady(b)
	rules := slices.Clone(role.Rules)
	w.Change(role, func() {
		role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "configmaps") })
	})
	w.Eventually("the watch to be refused", func(context.Context) error {
		watches.Cut("/api/v1/namespaces/" + w.Namespace + "/configmaps operon.dev/owner")
		var now boxtest.Box
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(b), &now); err != nil {
			return err
		}
		for _, c := range now.Status.Conditions {
			if c.Reason == "PermissionDenied" && strings.Contains(c.Message, `"configmaps"`) {
				return nil
			}
		}
		return errors.New("nothing is told of it")
	})
	w.Change(role, func() { role.Rules = rules })
	w.IsReady(b)
}

// If the author reads child objects, the cache contains complete objects, and every change causes a reconcile.
func TestAChildIsReadAsAWhole(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(ctx context.Context, b *boxtest.Box, seen *operon.Observed) error {
		child := boxtest.ConfigMap(b.Name, nil)
		found, err := seen.Child(ctx, child)
		if found {
			b.Status.Seen = []string{child.Data["a"] + "-" + child.Labels["theirs"]}
		}
		absent, err2 := seen.Child(ctx, boxtest.ConfigMap("nobody", nil))
		if absent {
			b.Status.Seen = []string{"a child that was not composed"}
		}
		return errors.Join(err, err2)
	}})
	b := w.Box("parent", map[string]string{"a": "1"})
	w.Sees(b, "1-")
	child := boxtest.ConfigMap("parent", nil)
	child.Namespace = w.Namespace
	w.Change(child, func() { child.Labels["theirs"] = "labelled" })
	w.Sees(b, "1-labelled")
	w.Change(b, func() { b.Spec.Data["a"] = "2" })
	w.Sees(b, "2-labelled")
}

// The manager's client refuses to cache all Secrets of a cluster, unless it is limited to namespaces or an option names them.
// Caching only metadata is allowed.
func TestTheManagersClientHoldsNoSecretsByChance(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	tests := []struct {
		name   string
		config operon.Config
		parts  []operon.Option
		object client.Object
		wrong  string
	}{
		{"all namespaces", operon.Config{}, nil, &corev1.Secret{}, "operon.CacheAll(&corev1.Secret{})"},
		{"one namespace", operon.Config{Namespace: w.Namespace}, nil, &corev1.Secret{}, ""},
		{"by name", operon.Config{}, []operon.Option{operon.CacheAll(&corev1.Secret{})}, &corev1.Secret{}, ""},
		{"metadata", operon.Config{}, nil, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}, ""},
		{"another kind", operon.Config{}, nil, &corev1.ServiceAccount{}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := w.clientOf(t, test.config, test.parts).Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "none"}, test.object)
			var refused *operon.CacheError
			if errors.As(err, &refused) != (test.wrong != "") || refused != nil && !strings.Contains(refused.Error(), test.wrong) {
				t.Errorf("it answers %v, want %q", err, test.wrong)
			}
		})
	}
}

// clientOf returns the manager's client of an operator that runs until the test ends.
func (w *fixture) clientOf(t *testing.T, cfg operon.Config, parts []operon.Option) client.Client {
	t.Helper()
	made, running := make(chan client.Client, 1), make(chan struct{})
	cfg.Ready = func() { close(running) }
	parts = append(parts, operon.Setup(func(m ctrl.Manager) error {
		made <- m.GetClient()
		return nil
	}))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- operon.Run(ctx, "plain-operator", rest.CopyConfig(w.Config), cfg, parts...) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-running:
	case err := <-ended:
		t.Fatalf("the operator ended with %v", err)
	case <-time.After(localtest.Patience):
		t.Fatalf("waited %s for the operator to be ready", localtest.Patience)
	}
	return <-made
}

// A reconcile's own writes, to child objects or to the status, cause no further reconcile, whether the watch shows them before
// or after the response to the write.
func TestOwnWritesAreNoNews(t *testing.T) {
	t.Parallel()
	for name, composer := range map[string]func(boxtest.Observing) operon.Composer[*boxtest.Box]{
		"children and status": func(o boxtest.Observing) operon.Composer[*boxtest.Box] { return o },
		"a finalizer, too":    func(o boxtest.Observing) operon.Composer[*boxtest.Box] { return finalizing{o} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			var passes atomic.Int64
			w.Run(composer(boxtest.Observing{
				ComposeFunc: func(b *boxtest.Box, out *operon.Composition) error {
					passes.Add(1)
					out.Child(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: b.Name}})
					return boxtest.Copies(b, out)
				},
				Observer: func(_ context.Context, b *boxtest.Box, _ *operon.Observed) error {
					b.Status.Seen = []string{b.Spec.Data["a"]}
					return nil
				},
			}))
			exactly := func(want int64) func(context.Context) error {
				return func(context.Context) error {
					if got := passes.Load(); got != want {
						return fmt.Errorf("%d reconciles, want %d", got, want)
					}
					return nil
				}
			}
			b := w.Box("quiet", map[string]string{"a": "1"})
			w.Sees(b, "1")
			w.Still("reconciles after the creation", exactly(1))
			w.Change(b, func() { b.Spec.Data["a"] = "2" })
			w.Sees(b, "2")
			w.Still("reconciles after the change", exactly(2))
		})
	}
}

// finalizing is a composer with a finalizer.
type finalizing struct{ boxtest.Observing }

// Finalize implements operon.Finalizer.
func (finalizing) Finalize(context.Context, *boxtest.Box, *operon.Finalization) error { return nil }

// An operator that is stopped does not wait long for the first read of a kind, which may never succeed.
func TestStoppedWhileAKindIsFirstRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	asked, gaveUp := make(chan struct{}), make(chan struct{})
	var once, up sync.Once
	config := rest.CopyConfig(w.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/secrets") {
				return next.RoundTrip(r)
			}
			once.Do(func() { close(asked) })
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- operon.Run(ctx, "box-operator", config, operon.Config{Namespace: w.Namespace}, operon.API(boxtest.AddToScheme),
			operon.Manage(boxtest.ComposeContextFunc(func(ctx context.Context, _ *boxtest.Box, out *operon.Composition) error {
				_, err := out.Get(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "never"}})
				up.Do(func() { close(gaveUp) })
				return err
			})))
	}()
	w.Box("waiting", nil)
	localtest.Receive(t, "a read", asked)
	stop()
	select {
	case <-gaveUp:
	case <-time.After(15 * time.Second): // a reconcile that finishes may take 20 s
		t.Error("it goes on")
	}
	if err := localtest.Receive(t, "the end of the operator", ended); err != nil {
		t.Error(err)
	}
}

// If garbage collection deletes child objects before the operator receives the deletion of their owner, they are not created
// again.
func TestChildrenOfAnOwnerThatIsGoneStayGone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/boxes") }}
	requests, _ := w.RunAs(gate.Config(w.Config), boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("brief", map[string]string{"a": "1"})
	w.IsReady(b)
	gate.Shut()
	defer gate.Open()
	sent := len(requests.All(false))
	w.Must(w.Client.Delete(t.Context(), b))
	w.Gone(w.EmptyConfigMap("brief"))
	w.Eventually("the operator to look for the owner", func(context.Context) error {
		if !slices.Contains(requests.All(false)[sent:], "GET /apis/test.operon.dev/v1/namespaces/"+w.Namespace+"/boxes/brief") {
			return errors.New("it has not")
		}
		return nil
	})
	if written := slices.DeleteFunc(boxtest.OfChildren(requests.All(true)), func(r string) bool { return !strings.Contains(r, "/configmaps/") }); len(written) > 1 {
		t.Errorf("the child was written again: %q", written)
	}
}

// An operator that is limited to namespaces may still read in other namespaces if it declares this.
func TestReadsInANamespaceThatTheOperatorIsNotLimitedTo(t *testing.T) {
	t.Parallel()
	w, other := newFixture(t), newFixture(t)
	w.Run(boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(ctx context.Context, b *boxtest.Box, seen *operon.Observed) error {
		var list corev1.SecretList
		err := seen.List(ctx, &list, client.MatchingLabels{"read-by": "a-box"}, client.InNamespace(other.Namespace))
		b.Status.Seen = nil
		for _, item := range list.Items {
			b.Status.Seen = append(b.Status.Seen, item.Name)
		}
		return err
	}})
	b := w.Box("far-sighted", nil)
	w.IsReady(b)
	far := &corev1.Secret{ObjectMeta: other.Meta("far")}
	far.Labels = map[string]string{"read-by": "a-box"}
	w.Must(w.Client.Create(t.Context(), far))
	w.Sees(b, "far")
}
