package reconcile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// upWhen makes a child ready when its data says so. Another client writes the data.
func upWhen(live *unstructured.Unstructured) (bool, string) {
	up, _, _ := unstructured.NestedString(live.Object, "data", "up")
	return up == "yes", "nobody has said that it is up"
}

// chain composes base and, after it, top.
func chain(b *boxtest.Box, out *operon.Composition) error {
	base, top := boxtest.ConfigMap(b.Name+"-base", nil), boxtest.ConfigMap(b.Name+"-top", b.Spec.Data)
	out.Child(top, operon.After(base))
	out.Child(base, operon.ReadyWhen(upWhen))
	return nil
}

func (w *fixture) absent(name string) {
	w.Helper()
	localtest.Always(w.T, boxtest.Stillness, name+" not to be there", func(ctx context.Context) error {
		err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, &corev1.ConfigMap{})
		if client.IgnoreNotFound(err) == nil && err != nil {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
}

func TestAChildComesAfterAnotherIsReady(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(chain))
	b := w.Box("chain", nil)
	w.Ready(b, metav1.ConditionFalse, "WaitingForChild", "ConfigMap chain-base is ready: nobody has said")
	w.absent("chain-top")
	base := w.Lives("chain-base")
	w.Change(base, func() { base.Data = map[string]string{"up": "yes"} })
	w.IsReady(b)
	w.Lives("chain-top")
}

// Child objects that are ready as soon as they are written cause no relevant watch event. The child objects after them are
// written anyway, even in a long chain.
func TestAChainOfChildrenThatAreReadyAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		first, second, third := boxtest.ConfigMap(b.Name+"-1", b.Spec.Data), boxtest.ConfigMap(b.Name+"-2", b.Spec.Data), boxtest.ConfigMap(b.Name+"-3", b.Spec.Data)
		out.Child(first)
		out.Child(second, operon.After(first))
		out.Child(third, operon.After(second))
		return nil
	}))
	b := w.Box("links", map[string]string{"a": "1"})
	w.IsReady(b)
	w.Holds(boxtest.ConfigMap("links-3", nil), map[string]string{"a": "1"})
	w.Change(b, func() { b.Spec.Data["a"] = "2" })
	w.IsReady(b)
	w.Holds(boxtest.ConfigMap("links-3", nil), map[string]string{"a": "2"})
}

// The child object of an earlier owner with the same name may take long to be deleted. No watch event reports this to an
// operator that started in the meantime.
func TestAChildOfAnEarlierOwnerMayTakeItsTime(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, stop := w.Run(boxtest.ComposeFunc(boxtest.Copies))
	earlier := w.Box("again", nil)
	w.IsReady(earlier)
	child := w.Lives("again")
	w.Change(child, func() { child.Finalizers = []string{"test.operon.dev/slow"} })
	stop()
	w.Must(w.Client.Delete(t.Context(), earlier))
	w.Gone(earlier)
	w.Must(w.Client.Delete(t.Context(), child))
	b := w.Box("again", map[string]string{"a": "2"})
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	w.Ready(b, metav1.ConditionFalse, "ChildDeleting", "earlier object")
	w.Change(child, func() { child.Finalizers = nil })
	w.IsReady(b)
	w.Holds(boxtest.ConfigMap("again", nil), map[string]string{"a": "2"})
}

func TestAChildGoesBeforeTheOneItComesAfter(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*fixture, *boxtest.Box){
		"owner deleted": func(w *fixture, b *boxtest.Box) { w.Must(w.Client.Delete(w.Context(), b)) },
		"not composed": func(w *fixture, b *boxtest.Box) {
			w.Change(b, func() { b.Spec.Data = map[string]string{"none": "true"} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
				if b.Spec.Data["none"] != "" {
					return nil
				}
				return chain(b, out)
			}))
			b := w.Box("chain", nil)
			w.Ready(b, metav1.ConditionFalse, "WaitingForChild", "")
			base := w.Lives("chain-base")
			w.Change(base, func() { base.Data = map[string]string{"up": "yes"} })
			w.IsReady(b)
			top := w.Lives("chain-top")
			w.Change(top, func() { top.Finalizers = []string{"test.operon.dev/slow"} })
			remove(w, b)
			w.Eventually("the top to be going", func(context.Context) error {
				if w.Lives("chain-top").DeletionTimestamp == nil {
					return errors.New("not yet")
				}
				return nil
			})
			localtest.Always(t, boxtest.Stillness, "the base to stay", func(context.Context) error {
				if w.Lives("chain-base").DeletionTimestamp != nil {
					return errors.New("it is going")
				}
				return nil
			})
			w.Change(top, func() { top.Finalizers = nil })
			w.Gone(top)
			w.Gone(base)
		})
	}
}

// fixedCrate composes a Crate with a field that is immutable according to its CRD.
func fixedCrate(options ...operon.ChildOption) boxtest.ComposeFunc {
	return func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(crate(b.Name, map[string]any{"fixed": b.Spec.Data["fixed"]}), options...)
		return nil
	}
}

func crate(name string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "test.operon.dev/v1", "kind": "Crate", "spec": spec}}
	object.SetName(name)
	return object
}

func TestImmutableFieldStalls(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.InstallCRDs(t, boxtest.File(w, "test/testdata/crates.yaml"))
	w.Run(fixedCrate())
	b := w.Box("fixed", map[string]string{"fixed": "a"})
	w.IsReady(b)
	w.Change(b, func() { b.Spec.Data["fixed"] = "b" })
	w.Ready(b, metav1.ConditionFalse, "ImmutableField", "spec.fixed cannot be changed")
	w.Event("ImmutableField", "spec.fixed")
	w.Change(b, func() { b.Spec.Data["fixed"] = "a" })
	w.IsReady(b)
}

func TestReplaceMakesAgainWhatCannotBeChanged(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.InstallCRDs(t, boxtest.File(w, "test/testdata/crates.yaml"))
	w.Run(fixedCrate(operon.Replace()))
	b := w.Box("replaced", map[string]string{"fixed": "a"})
	w.IsReady(b)
	live := crate(b.Name, nil)
	w.Must(w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: b.Name}, live))
	first := live.GetUID()
	w.Change(b, func() { b.Spec.Data["fixed"] = "b" })
	w.Event("Replaced", "spec.fixed cannot be changed")
	w.Eventually("another crate", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: b.Name}, live); err != nil {
			return err
		}
		if live.GetUID() == first {
			return errors.New("it is the same")
		}
		return nil
	})
	w.IsReady(b)
}

// A child object that is slow to be deleted is deleted only by the operator: changing the spec three times is not reported as a
// contest with another client.
func TestReplaceIsNoContest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.InstallCRDs(t, boxtest.File(w, "test/testdata/crates.yaml"))
	w.Run(fixedCrate(operon.Replace()))
	b := w.Box("slow", map[string]string{"fixed": "a"})
	for _, value := range []string{"b", "c", "d"} {
		w.IsReady(b)
		live := crate(b.Name, nil)
		w.Must(w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: b.Name}, live))
		live.SetFinalizers([]string{"test.operon.dev/slow"})
		w.Must(w.Client.Update(t.Context(), live))
		w.Change(b, func() { b.Spec.Data["fixed"] = value })
		w.Ready(b, metav1.ConditionFalse, "ChildDeleting", "waits for its finalizers test.operon.dev/slow")
		w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(live), live))
		live.SetFinalizers(nil)
		w.Must(w.Client.Update(t.Context(), live))
	}
	w.IsReady(b)
}

func TestReplaceDoesNotHideAMistake(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.InstallCRDs(t, boxtest.File(w, "test/testdata/crates.yaml"))
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(crate(b.Name, map[string]any{"small": b.Spec.Data["small"]}), operon.Replace())
		return nil
	}))
	b := w.Box("wrong", map[string]string{"small": "a"})
	w.IsReady(b)
	w.Change(b, func() { b.Spec.Data["small"] = "too long" })
	w.Ready(b, metav1.ConditionFalse, "ChildRefused", "spec.small")
	w.Must(w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: b.Name}, crate(b.Name, nil)))
}

func TestAdoptTakesOverWhatNobodyControls(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	theirs := boxtest.ConfigMap("taken", map[string]string{"a": "theirs", "b": "stays"})
	theirs.Namespace = w.Namespace
	w.Must(w.Client.Create(t.Context(), theirs))
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap(b.Name, b.Spec.Data), operon.Adopt())
		return nil
	}))
	b := w.Box("taken", map[string]string{"a": "mine"})
	w.IsReady(b)
	w.Holds(theirs, map[string]string{"a": "mine", "b": "stays"})
	w.Event("Adopted", "ConfigMap taken")
}

// A stale cache cannot undo what another client has written.
func TestAdoptOfAVersionThatIsNotTheNewest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	theirs := boxtest.ConfigMap("taken", map[string]string{"a": "theirs"})
	theirs.Namespace = w.Namespace
	w.Must(w.Client.Create(t.Context(), theirs))
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		child := boxtest.ConfigMap("taken", b.Spec.Data)
		child.ResourceVersion = b.Spec.Data["version"]
		out.Child(child, operon.Adopt())
		return nil
	}))
	older := theirs.ResourceVersion
	theirs.Data["b"] = "newer"
	w.Must(w.Client.Update(t.Context(), theirs))
	b := w.Box("taken", map[string]string{"a": "mine", "version": older})
	w.Ready(b, metav1.ConditionFalse, "ChildChanged", "ConfigMap taken has changed since it was read")
	w.Holds(theirs, map[string]string{"a": "theirs", "b": "newer"})
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))
	w.Change(b, func() { b.Spec.Data["version"] = theirs.ResourceVersion })
	w.IsReady(b)
	w.Event("Adopted", "ConfigMap taken")
}

func TestAdoptLeavesWhatSomebodyControls(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	theirs := boxtest.ConfigMap("taken", map[string]string{"a": "theirs"})
	theirs.Namespace = w.Namespace
	theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: w.Namespace, UID: w.UID(), Controller: new(true)}}
	w.Must(w.Client.Create(t.Context(), theirs))
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap(b.Name, b.Spec.Data), operon.Adopt())
		return nil
	}))
	w.Ready(w.Box("taken", map[string]string{"a": "mine"}), metav1.ConditionFalse, "Conflict", "controlled by Namespace "+w.Namespace)
	w.Holds(theirs, map[string]string{"a": "theirs"})
}

func TestOrphansAreLeftBehindWithoutMarks(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*fixture, *boxtest.Box){
		"owner deleted": func(w *fixture, b *boxtest.Box) {
			w.Must(w.Client.Delete(w.Context(), b))
			w.Gone(b)
		},
		"not composed": func(w *fixture, b *boxtest.Box) {
			w.Change(b, func() { b.Spec.Data = map[string]string{"none": "true"} })
			w.Event("Released", "ConfigMap orphan")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
				if b.Spec.Data["none"] == "" {
					out.Child(boxtest.ConfigMap(b.Name, b.Spec.Data), operon.Orphan())
				}
				return nil
			}))
			b := w.Box("orphan", map[string]string{"a": "1"})
			w.IsReady(b)
			remove(w, b)
			left := w.Lives("orphan")
			if len(left.Labels) > 0 || len(left.Annotations) > 0 || len(left.OwnerReferences) > 0 || left.Data["a"] != "1" {
				t.Errorf("left behind as %+v", left)
			}
		})
	}
}

func TestWaitPrunesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		if b.Spec.Data["wait"] != "" {
			out.Wait("NoLicence", "waits for a licence")
			return nil
		}
		return boxtest.Copies(b, out)
	}))
	b := w.Box("patient", map[string]string{"a": "1"})
	w.IsReady(b)
	w.Change(b, func() { b.Spec.Data["wait"] = "yes" })
	w.Ready(b, metav1.ConditionFalse, "NoLicence", "waits for a licence")
	w.Lives(b.Name)
}

// What exists stays while a kind is missing that it comes after, directly or not.
func TestMissingKindPrunesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		first, second := boxtest.ConfigMap(b.Name, b.Spec.Data), boxtest.ConfigMap(b.Name+"-second", b.Spec.Data)
		out.Child(second, operon.After(first))
		if b.Spec.Data["nothing"] == "" {
			out.Child(first)
			return nil
		}
		nothing := crate(b.Name, nil)
		nothing.SetKind("Nothing")
		out.Child(nothing)
		out.Child(first, operon.After(nothing))
		return nil
	}))
	b := w.Box("kept", map[string]string{"a": "1"})
	w.IsReady(b)
	w.Change(b, func() { b.Spec.Data["nothing"] = "yes" })
	w.Ready(b, metav1.ConditionFalse, "KindMissing", "the cluster has no kind Nothing")
	for _, name := range []string{b.Name, b.Name + "-second"} {
		w.Holds(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}, map[string]string{"a": "1"})
	}
}

// A kind that is removed while the operator runs stops neither objects that once had a child of it nor their deletion.
func TestKindOfAChildIsRemoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	text, err := os.ReadFile(boxtest.File(w, "test/testdata/crates.yaml"))
	w.Must(err)
	group := w.Namespace + ".operon.dev" // other tests use the kind as it is in the file
	file := filepath.Join(t.TempDir(), "crates.yaml")
	w.Must(os.WriteFile(file, bytes.ReplaceAll(text, []byte("test.operon.dev"), []byte(group)), 0o600))
	w.InstallCRDs(t, file)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "box-" + w.Namespace}}
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		if b.Spec.Data["crate"] != "" {
			child := crate(b.Name, map[string]any{"small": "a"})
			child.SetAPIVersion(group + "/v1")
			out.Child(child)
			out.Child(role.DeepCopy()) // so that the object has a finalizer
		}
		return boxtest.Copies(b, out)
	}))
	b, other := w.Box("owner", map[string]string{"crate": "yes"}), w.Box("other", map[string]string{"a": "1"})
	w.IsReady(b)
	w.IsReady(other)
	crates := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
	crates.SetName("crates." + group)
	w.Must(w.Client.Delete(t.Context(), crates))
	w.Gone(crates)
	w.Change(other, func() { other.Spec.Data["a"] = "2" })
	w.IsReady(other)
	w.Ready(b, metav1.ConditionFalse, "KindMissing", "the cluster has no kind Crate")
	w.Must(w.Client.Delete(t.Context(), b))
	w.Gone(b)
	w.Gone(role)
}

func TestFinalizerGoesWithTheLastChildThatNeedsIt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	name := "box-" + w.Namespace
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		if b.Spec.Data["wide"] != "" {
			out.Child(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		return boxtest.Copies(b, out)
	}))
	b := w.Box("wide", map[string]string{"wide": "yes"})
	w.IsReady(b)
	if !slices.Contains(b.Finalizers, "operon.dev/children") || !strings.Contains(b.Annotations["applyset.kubernetes.io/contains-group-kinds"], "ClusterRole.rbac.authorization.k8s.io,ConfigMap") {
		t.Errorf("finalizers %q, annotations %v", b.Finalizers, b.Annotations)
	}
	w.Change(b, func() { b.Spec.Data["wide"] = "" })
	w.Gone(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}})
	w.Eventually("the finalizer to go", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if len(b.Finalizers) > 0 {
			return fmt.Errorf("finalizers %q", b.Finalizers)
		}
		return nil
	})
}

// A partly declared child causes no deletion and no further reconcile: the object is ready.
func TestDeclaredInPart(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		switch b.Spec.Data["declare"] {
		case "all":
			return boxtest.Copies(b, out)
		case "part":
			out.Partial()
		}
		return nil
	}))
	b := w.Box("one", map[string]string{"declare": "all"})
	w.IsReady(b)
	w.Change(b, func() { b.Spec.Data["declare"] = "part" })
	w.IsReady(b)
	w.Lives(b.Name)
	w.Change(b, func() { b.Spec.Data["declare"] = "none" })
	w.Gone(w.EmptyConfigMap(b.Name))
}
