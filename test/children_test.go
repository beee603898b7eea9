package operon_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
)

// upWhen makes a child ready when its data says so. Another client writes the data.
func upWhen(live *unstructured.Unstructured) (bool, string) {
	up, _, _ := unstructured.NestedString(live.Object, "data", "up")
	return up == "yes", "nobody has said that it is up"
}

// chain composes base and, after it, top.
func chain(b *Box, out *operon.Composition) error {
	base, top := config(b.Name+"-base", nil), config(b.Name+"-top", b.Spec.Data)
	out.Child(top, operon.After(base))
	out.Child(base, operon.ReadyWhen(upWhen))
	return nil
}

func (w *world) lives(name string) *corev1.ConfigMap {
	w.Helper()
	found := config(name, nil)
	w.must(w.client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, found))
	return found
}

func (w *world) absent(name string) {
	w.Helper()
	localtest.Always(w.T, stillness, name+" not to be there", func(ctx context.Context) error {
		err := w.client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, &corev1.ConfigMap{})
		if client.IgnoreNotFound(err) == nil && err != nil {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
}

func TestAChildComesAfterAnotherIsReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(chain))
	b := w.box("chain", nil)
	w.ready(b, metav1.ConditionFalse, "WaitingForChild", "ConfigMap chain-base is ready: nobody has said")
	w.absent("chain-top")
	base := w.lives("chain-base")
	w.change(base, func() { base.Data = map[string]string{"up": "yes"} })
	w.isReady(b)
	w.lives("chain-top")
}

// Child objects that are ready as soon as they are written cause no relevant watch event. The child objects after them are
// written anyway, even in a long chain.
func TestAChainOfChildrenThatAreReadyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(func(b *Box, out *operon.Composition) error {
		first, second, third := config(b.Name+"-1", b.Spec.Data), config(b.Name+"-2", b.Spec.Data), config(b.Name+"-3", b.Spec.Data)
		out.Child(first)
		out.Child(second, operon.After(first))
		out.Child(third, operon.After(second))
		return nil
	}))
	b := w.box("links", map[string]string{"a": "1"})
	w.isReady(b)
	w.holds(config("links-3", nil), map[string]string{"a": "1"})
	w.change(b, func() { b.Spec.Data["a"] = "2" })
	w.isReady(b)
	w.holds(config("links-3", nil), map[string]string{"a": "2"})
}

// The child object of an earlier owner with the same name may take long to be deleted. No watch event reports this to an
// operator that started in the meantime.
func TestAChildOfAnEarlierOwnerMayTakeItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run(compose(copies))
	earlier := w.box("again", nil)
	w.isReady(earlier)
	child := w.lives("again")
	w.change(child, func() { child.Finalizers = []string{"test.operon.dev/slow"} })
	stop()
	w.must(w.client.Delete(t.Context(), earlier))
	w.gone(earlier)
	w.must(w.client.Delete(t.Context(), child))
	b := w.box("again", map[string]string{"a": "2"})
	w.run(compose(copies))
	w.ready(b, metav1.ConditionFalse, "ChildDeleting", "earlier object")
	w.change(child, func() { child.Finalizers = nil })
	w.isReady(b)
	w.holds(config("again", nil), map[string]string{"a": "2"})
}

func TestAChildGoesBeforeTheOneItComesAfter(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*world, *Box){
		"owner deleted": func(w *world, b *Box) { w.must(w.client.Delete(w.Context(), b)) },
		"not composed":  func(w *world, b *Box) { w.change(b, func() { b.Spec.Data = map[string]string{"none": "true"} }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(compose(func(b *Box, out *operon.Composition) error {
				if b.Spec.Data["none"] != "" {
					return nil
				}
				return chain(b, out)
			}))
			b := w.box("chain", nil)
			w.ready(b, metav1.ConditionFalse, "WaitingForChild", "")
			base := w.lives("chain-base")
			w.change(base, func() { base.Data = map[string]string{"up": "yes"} })
			w.isReady(b)
			top := w.lives("chain-top")
			w.change(top, func() { top.Finalizers = []string{"test.operon.dev/slow"} })
			remove(w, b)
			w.eventually("the top to be going", func(context.Context) error {
				if w.lives("chain-top").DeletionTimestamp == nil {
					return errors.New("not yet")
				}
				return nil
			})
			localtest.Always(t, stillness, "the base to stay", func(context.Context) error {
				if w.lives("chain-base").DeletionTimestamp != nil {
					return errors.New("it is going")
				}
				return nil
			})
			w.change(top, func() { top.Finalizers = nil })
			w.gone(top)
			w.gone(base)
		})
	}
}

// fixedCrate composes a Crate with a field that is immutable according to its CRD.
func fixedCrate(options ...operon.ChildOption) compose {
	return func(b *Box, out *operon.Composition) error {
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
	w := newWorld(t)
	w.InstallCRDs(t, "testdata/crates.yaml")
	w.run(fixedCrate())
	b := w.box("fixed", map[string]string{"fixed": "a"})
	w.isReady(b)
	w.change(b, func() { b.Spec.Data["fixed"] = "b" })
	w.ready(b, metav1.ConditionFalse, "ImmutableField", "spec.fixed cannot be changed")
	w.event("ImmutableField", "spec.fixed")
	w.change(b, func() { b.Spec.Data["fixed"] = "a" })
	w.isReady(b)
}

func TestReplaceMakesAgainWhatCannotBeChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.InstallCRDs(t, "testdata/crates.yaml")
	w.run(fixedCrate(operon.Replace()))
	b := w.box("replaced", map[string]string{"fixed": "a"})
	w.isReady(b)
	live := crate(b.Name, nil)
	w.must(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: b.Name}, live))
	first := live.GetUID()
	w.change(b, func() { b.Spec.Data["fixed"] = "b" })
	w.event("Replaced", "spec.fixed cannot be changed")
	w.eventually("another crate", func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: b.Name}, live); err != nil {
			return err
		}
		if live.GetUID() == first {
			return errors.New("it is the same")
		}
		return nil
	})
	w.isReady(b)
}

// A child object that is slow to be deleted is deleted only by the operator: changing the spec three times is not reported as a
// contest with another client.
func TestReplaceIsNoContest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.InstallCRDs(t, "testdata/crates.yaml")
	w.run(fixedCrate(operon.Replace()))
	b := w.box("slow", map[string]string{"fixed": "a"})
	for _, value := range []string{"b", "c", "d"} {
		w.isReady(b)
		live := crate(b.Name, nil)
		w.must(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: b.Name}, live))
		live.SetFinalizers([]string{"test.operon.dev/slow"})
		w.must(w.client.Update(t.Context(), live))
		w.change(b, func() { b.Spec.Data["fixed"] = value })
		w.ready(b, metav1.ConditionFalse, "ChildDeleting", "waits for its finalizers test.operon.dev/slow")
		w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(live), live))
		live.SetFinalizers(nil)
		w.must(w.client.Update(t.Context(), live))
	}
	w.isReady(b)
}

func TestReplaceDoesNotHideAMistake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.InstallCRDs(t, "testdata/crates.yaml")
	w.run(compose(func(b *Box, out *operon.Composition) error {
		out.Child(crate(b.Name, map[string]any{"small": b.Spec.Data["small"]}), operon.Replace())
		return nil
	}))
	b := w.box("wrong", map[string]string{"small": "a"})
	w.isReady(b)
	w.change(b, func() { b.Spec.Data["small"] = "too long" })
	w.ready(b, metav1.ConditionFalse, "ChildRefused", "spec.small")
	w.must(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: b.Name}, crate(b.Name, nil)))
}

func TestAdoptTakesOverWhatNobodyControls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	theirs := config("taken", map[string]string{"a": "theirs", "b": "stays"})
	theirs.Namespace = w.Namespace
	w.must(w.client.Create(t.Context(), theirs))
	w.run(compose(func(b *Box, out *operon.Composition) error {
		out.Child(config(b.Name, b.Spec.Data), operon.Adopt())
		return nil
	}))
	b := w.box("taken", map[string]string{"a": "mine"})
	w.isReady(b)
	w.holds(theirs, map[string]string{"a": "mine", "b": "stays"})
	w.event("Adopted", "ConfigMap taken")
}

func TestAdoptLeavesWhatSomebodyControls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	theirs := config("taken", map[string]string{"a": "theirs"})
	theirs.Namespace = w.Namespace
	theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: w.Namespace, UID: w.uid(), Controller: new(true)}}
	w.must(w.client.Create(t.Context(), theirs))
	w.run(compose(func(b *Box, out *operon.Composition) error {
		out.Child(config(b.Name, b.Spec.Data), operon.Adopt())
		return nil
	}))
	w.ready(w.box("taken", map[string]string{"a": "mine"}), metav1.ConditionFalse, "Conflict", "controlled by Namespace "+w.Namespace)
	w.holds(theirs, map[string]string{"a": "theirs"})
}

func TestOrphansAreLeftBehindWithoutMarks(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*world, *Box){
		"owner deleted": func(w *world, b *Box) {
			w.must(w.client.Delete(w.Context(), b))
			w.gone(b)
		},
		"not composed": func(w *world, b *Box) {
			w.change(b, func() { b.Spec.Data = map[string]string{"none": "true"} })
			w.event("Released", "ConfigMap orphan")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(compose(func(b *Box, out *operon.Composition) error {
				if b.Spec.Data["none"] == "" {
					out.Child(config(b.Name, b.Spec.Data), operon.Orphan())
				}
				return nil
			}))
			b := w.box("orphan", map[string]string{"a": "1"})
			w.isReady(b)
			remove(w, b)
			left := w.lives("orphan")
			if len(left.Labels) > 0 || len(left.Annotations) > 0 || len(left.OwnerReferences) > 0 || left.Data["a"] != "1" {
				t.Errorf("left behind as %+v", left)
			}
		})
	}
}

func TestWaitPrunesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(func(b *Box, out *operon.Composition) error {
		if b.Spec.Data["wait"] != "" {
			out.Wait("NoLicence", "waits for a licence")
			return nil
		}
		return copies(b, out)
	}))
	b := w.box("patient", map[string]string{"a": "1"})
	w.isReady(b)
	w.change(b, func() { b.Spec.Data["wait"] = "yes" })
	w.ready(b, metav1.ConditionFalse, "NoLicence", "waits for a licence")
	w.lives(b.Name)
}

func TestFinalizerGoesWithTheLastChildThatNeedsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := "box-" + w.Namespace
	w.run(compose(func(b *Box, out *operon.Composition) error {
		if b.Spec.Data["wide"] != "" {
			out.Child(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		return copies(b, out)
	}))
	b := w.box("wide", map[string]string{"wide": "yes"})
	w.isReady(b)
	if !slices.Contains(b.Finalizers, "operon.dev/children") || !strings.Contains(b.Annotations["applyset.kubernetes.io/contains-group-kinds"], "ClusterRole.rbac.authorization.k8s.io,ConfigMap") {
		t.Errorf("finalizers %q, annotations %v", b.Finalizers, b.Annotations)
	}
	w.change(b, func() { b.Spec.Data["wide"] = "" })
	w.gone(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}})
	w.eventually("the finalizer to go", func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
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
	w := newWorld(t)
	w.run(compose(func(b *Box, out *operon.Composition) error {
		switch b.Spec.Data["declare"] {
		case "all":
			return copies(b, out)
		case "part":
			out.Partial()
		}
		return nil
	}))
	b := w.box("one", map[string]string{"declare": "all"})
	w.isReady(b)
	w.change(b, func() { b.Spec.Data["declare"] = "part" })
	w.isReady(b)
	w.lives(b.Name)
	w.change(b, func() { b.Spec.Data["declare"] = "none" })
	w.gone(w.configMap(b.Name))
}
