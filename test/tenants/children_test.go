package tenants_test

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/local/localtest"
)

// onChildren are attacks with objects that look like child objects.
var onChildren = []attack{
	{"an object carries the labels of the victim's children", plantChild},
	{"an object that looks like the victim's child changes in a loop", floodPlanted},
	{"objects with the names of children exist before", occupyNames},
	{"a Box asks for a child in the namespace of the victim", mirrorIntoVictim},
}

// planted returns an object in the hostile tenant's namespace that looks like a child of the victim's Box for which the
// victim's ConfigMap would have to wait.
func (w *world) planted(name string) *corev1.ConfigMap {
	victim := plan.ID{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: w.b.namespace, Name: w.b.box.Name}
	owner := plan.ID{GroupKind: schema.GroupKind{Group: "test.operon.dev", Kind: "Box"}, Namespace: w.b.namespace, Name: w.b.box.Name}
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.a.namespace, Name: name,
			Labels: map[string]string{
				plan.OwnerLabel: string(w.b.box.UID), plan.PartOfLabel: plan.ApplySetID(owner), plan.ManagedByLabel: operatorName,
			},
			Annotations: map[string]string{plan.AfterAnnotation: victim.Key(), plan.HashAnnotation: "1"},
			Finalizers:  []string{never},
		},
	}
}

// refersTo adds a reference that makes a Box the controller of an object.
func refersTo(b *box.Box, object client.Object) {
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "test.operon.dev/v1", Kind: "Box", Name: b.Name, UID: b.UID, Controller: new(true), BlockOwnerDeletion: new(true),
	}})
}

// apply applies an object as the hostile tenant, with the operator's field manager.
func (w *world) apply(object client.Object) {
	w.Helper()
	object.SetManagedFields(nil)
	object.SetResourceVersion("")
	content, err := json.Marshal(object)
	w.must(err)
	w.must(w.a.Patch(w.Context(), object, client.RawPatch(types.ApplyPatchType, content), client.ForceOwnership, client.FieldOwner(operatorName)))
}

// plantChild creates objects with and without a reference to the victim's Box.
func plantChild(w *world) {
	w.apply(w.planted("applied"))
	referring := w.planted("referring")
	refersTo(w.b.box, referring)
	w.must(w.a.Create(w.Context(), referring))
}

// floods is the number of changes of a flood.
const floods = 100

// floodPlanted tries to exhaust the rate limit of the victim's Box.
func floodPlanted(w *world) {
	for i := range floods {
		planted := w.planted("planted")
		planted.Annotations[plan.HashAnnotation] = fmt.Sprint(i)
		w.apply(planted)
	}
}

// occupyNames creates objects with the names of child objects, with and without an owner label.
func occupyNames(w *world) {
	for _, labels := range []map[string]string{nil, {plan.OwnerLabel: string(w.b.box.UID)}} {
		name := fmt.Sprint("occupied-", len(labels), labels[plan.OwnerLabel])
		data := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.a.namespace, Name: name, Labels: labels}, Data: map[string]string{"mine": "1"}}
		w.must(w.a.Create(w.Context(), data))
		taken := w.create(w.a, name, map[string]string{"mine": "2"})
		w.conflicts(taken)
		w.must(w.a.Get(w.Context(), client.ObjectKeyFromObject(data), data))
		if data.Data["mine"] != "1" {
			w.Errorf("the operator has adopted a ConfigMap with the labels %q: %q", labels, data.Data)
		}
	}
}

// mirrorIntoVictim requests a child with the name of an existing child of the victim.
func mirrorIntoVictim(w *world) {
	w.change(w.a, w.a.box, func() { w.a.box.Spec.Data[mirrorField] = w.b.namespace })
	w.conflicts(w.a.box)
}

// conflicts waits until a Box reports that a child's name is taken.
func (w *world) conflicts(b *box.Box) {
	w.Helper()
	localtest.Eventually(w.T, b.Name+" to report a conflict", func(ctx context.Context) error {
		if err := w.admin.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(b.Status.Conditions, "Ready"); c == nil || c.Reason != "Conflict" {
			return fmt.Errorf("status %+v", b.Status)
		}
		return nil
	})
}
