package operon_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon"
	kind "github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// Yard is a cluster-scoped kind.
type Yard struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   boxtest.BoxSpec   `json:"spec,omitempty"`
	Status boxtest.BoxStatus `json:"status,omitempty"`
}

// YardList is a list of Yards.
type YardList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Yard `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (y *Yard) DeepCopyObject() runtime.Object { return kind.Copied(y) }

// DeepCopyObject implements runtime.Object.
func (l *YardList) DeepCopyObject() runtime.Object { return kind.Copied(l) }

func addYard(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "test.operon.dev", Version: "v1"}
	scheme.AddKnownTypes(version, &Yard{}, &YardList{})
	return nil
}

// yards is a composer of Yards that consists of a function.
type yards func(*Yard, *operon.Composition) error

func (c yards) Compose(_ context.Context, y *Yard, out *operon.Composition) error { return c(y, out) }

// yard creates a Yard that is deleted when the test ends.
func (w *fixture) yard(name string, data map[string]string) *Yard {
	w.Helper()
	y := &Yard{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-" + name}, Spec: boxtest.BoxSpec{Data: data}}
	w.Must(w.Client.Create(w.Context(), y))
	w.Cleanup(func() {
		if err := client.IgnoreNotFound(w.Client.Delete(w.Afterwards().Context(), y)); err != nil {
			w.Error(err)
		}
	})
	return y
}

// yardIs waits until the Ready condition of a Yard has a reason.
func (w *fixture) yardIs(y *Yard, reason string) {
	w.Helper()
	w.Eventually("the Yard to be "+reason, func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(y), y); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(y.Status.Conditions, "Ready"); c == nil || c.Reason != reason {
			return fmt.Errorf("status %+v", y.Status)
		}
		return nil
	})
}

// spread composes a ConfigMap in each of the namespaces, and a namespace.
func spread(y *Yard, out *operon.Composition, namespaces ...string) {
	for _, namespace := range namespaces {
		child := boxtest.ConfigMap("spread", y.Spec.Data)
		child.Namespace = namespace
		out.Child(child)
	}
	out.Child(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: y.Name + "-more"}})
}

// One operator manages a namespaced and a cluster-scoped kind. No other test manages Yards, because nothing would separate
// them.
func TestSeveralKindsAndClusterScope(t *testing.T) {
	t.Parallel()
	w, other := newFixture(t), newFixture(t)
	w.InstallCRDs(t, "testdata/yards.yaml")
	w.Must(addYard(w.Client.Scheme()))
	outer := yards(func(y *Yard, out *operon.Composition) error {
		switch y.Name {
		case w.Namespace + "-wide":
			spread(y, out, w.Namespace, other.Namespace)
		case w.Namespace + "-outer":
			out.Child(&boxtest.Box{ObjectMeta: w.Meta("inner"), Spec: y.Spec})
		}
		return nil
	})
	inner := boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		if b.Spec.Data["wait"] != "" {
			out.Wait("NoData", "waits for data")
		}
		return boxtest.Copies(b, out)
	})
	config, watches := boxtest.Watched(w.Config)
	w.RunWith(config, operon.Config{Namespaces: []string{w.Namespace, other.Namespace}},
		operon.API(boxtest.AddToScheme), operon.API(addYard), operon.Manage(outer), operon.Manage(inner))
	t.Run("an owner without a namespace", func(t *testing.T) { testClusterScope(t, w, other) })
	t.Run("a kind composed of another", func(t *testing.T) { testSeveralKinds(t, w, watches) })
}

// A cluster-scoped owner has child objects in several namespaces and a cluster-scoped one. All are deleted with it without a
// finalizer, because garbage collection reaches them.
func testClusterScope(t *testing.T, w, other *fixture) {
	y := w.yard("wide", map[string]string{"a": "1"})
	w.yardIs(y, "Ready")
	if len(y.Finalizers) > 0 {
		t.Errorf("finalizers %q", y.Finalizers)
	}
	for _, in := range []*fixture{w, other} {
		child := in.EmptyConfigMap("spread")
		in.Holds(child, map[string]string{"a": "1"})
		in.Change(child, func() { child.Data["a"] = "changed" })
		in.Holds(child, map[string]string{"a": "1"})
	}
	w.Must(w.Client.Delete(t.Context(), y))
	for _, in := range []*fixture{w, other} {
		in.Gone(in.EmptyConfigMap("spread"))
	}
	w.Gone(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: y.Name + "-more"}})
}

// The readiness of the inner kind is the readiness of the outer kind's child object. A kind that both have as child objects is
// watched once.
func testSeveralKinds(t *testing.T, w *fixture, watches *boxtest.Watches) {
	y := w.yard("outer", map[string]string{"wait": "yes"})
	w.yardIs(y, "ChildNotReady")
	w.Change(y, func() { y.Spec.Data = map[string]string{"a": "1"} })
	w.yardIs(y, "Ready")
	w.IsReady(&boxtest.Box{ObjectMeta: w.Meta("inner")})
	w.Holds(boxtest.ConfigMap("inner", nil), map[string]string{"a": "1"})
	watches.Are(t, w.Eventually, "/api/v1/namespaces/"+w.Namespace+"/configmaps operon.dev/owner", 1)
	w.Must(w.Client.Delete(t.Context(), y))
	w.Gone(w.EmptyConfigMap("inner"))
}

// plain is a plain controller-runtime reconciler without Operon. It records the data of each ConfigMap in an annotation.
type plain struct{ client.Client }

func (p plain) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	child := &corev1.ConfigMap{}
	if err := p.Get(ctx, request.NamespacedName, child); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	before := child.DeepCopy()
	metav1.SetMetaDataAnnotation(&child.ObjectMeta, "plain", child.Data["a"])
	return reconcile.Result{}, p.Patch(ctx, child, client.MergeFrom(before), client.FieldOwner("plain"))
}

// A plain reconciler works together with a composer, in the same manager, on the same objects.
func TestPlainReconcilerBesideAComposer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.RunWith(w.Config, operon.Config{Namespace: w.Namespace}, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)),
		operon.Setup(func(m ctrl.Manager) error {
			return ctrl.NewControllerManagedBy(m).For(&corev1.ConfigMap{}).
				WithOptions(controller.Options{SkipNameValidation: new(true)}).Complete(plain{m.GetClient()})
		}))
	b := w.Box("both", map[string]string{"a": "1"})
	w.IsReady(b)
	w.annotated(b.Name, "1")
	w.Change(b, func() { b.Spec.Data["a"] = "2" })
	w.annotated(b.Name, "2")
	w.IsReady(b)
}

// annotated waits until the plain reconciler has recorded a value.
func (w *fixture) annotated(name, want string) {
	w.Helper()
	w.Eventually("the annotation "+want, func(ctx context.Context) error {
		child := w.EmptyConfigMap(name)
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil {
			return err
		}
		if got := child.Annotations["plain"]; got != want {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
}
