package tenants_test

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/local/localtest"
)

// onMarks are attacks with fields of Boxes that the operator itself writes.
var onMarks = []attack{
	{"a Box carries the labels of the victim's Box and its children", stealLabels},
	{"a Box refers to the victim's Box as its owner", stealOwner},
	{"a Box is paused and keeps finalizers of its own and of the operator", holdFinalizers},
	{"the status of a Box is written", writeStatus},
	{"an action names the Box of the victim", actOnVictim},
	{"objects of the victim are read and written", reachVictim},
}

// stealLabels makes a Box look like the victim's Box, and like one of its child objects.
func stealLabels(w *world) {
	victims := &box.Box{}
	w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(w.b.box), victims))
	w.create(w.a, "stolen", map[string]string{"text": "stolen"}, func(b *box.Box) {
		b.Labels = victims.Labels
		metav1.SetMetaDataLabel(&b.ObjectMeta, plan.OwnerLabel, string(victims.UID))
		metav1.SetMetaDataLabel(&b.ObjectMeta, plan.ShardLabel, "00")
		b.Annotations = victims.Annotations
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, plan.KindsAnnotation, "Box.test.operon.dev")
	})
}

// stealOwner makes the garbage collector remove the Box, because its owner is not in its namespace.
func stealOwner(w *world) {
	w.change(w.a, w.a.box, func() { refersTo(w.b.box, w.a.box) })
	w.create(w.a, "owned", map[string]string{"text": "owned"}, func(b *box.Box) { refersTo(w.b.box, b) })
}

func holdFinalizers(w *world) {
	w.change(w.a, w.a.box, func() {
		metav1.SetMetaDataAnnotation(&w.a.box.ObjectMeta, "operon.dev/paused", "true")
		metav1.SetMetaDataAnnotation(&w.a.box.ObjectMeta, external.PolicyAnnotation, "orphan")
		w.a.box.Finalizers = append(w.a.box.Finalizers, never, "operon.dev/cleanup", "operon.dev/steps")
	})
	w.must(w.a.Delete(w.Context(), w.a.box))
}

// writeStatus tries to write the status with the permission to write Boxes, but not their status.
func writeStatus(w *world) {
	ready := w.a.box.Status
	w.change(w.a, w.a.box, func() {
		w.a.box.Status = box.BoxStatus{Seen: []string{"hostile"}, ObservedGeneration: 1000, Journal: &journal.Journal{}}
	})
	w.isReady(w.a.box)
	if len(w.a.box.Status.Seen) > 0 || w.a.box.Status.ObservedGeneration != ready.ObservedGeneration {
		w.Errorf("the status is %+v", w.a.box.Status)
	}
	if err := w.a.Status().Update(w.Context(), w.a.box); !apierrors.IsForbidden(err) {
		w.Errorf("writing the subresource returned %v", err)
	}
}

// actOnVictim exports a Box whose name both tenants use, and requests the artifacts of an Action in the victim's namespace.
func actOnVictim(w *world) {
	target := v1alpha1.Target{APIGroup: "test.operon.dev", Kind: "Box", Name: w.b.box.Name}
	export := func(by *tenant, name, artifactsFrom string) *v1alpha1.Action {
		a := &v1alpha1.Action{ObjectMeta: metav1.ObjectMeta{Namespace: by.namespace, Name: name}}
		a.Spec = v1alpha1.ActionSpec{Target: target, Action: "export", ArtifactsFrom: artifactsFrom}
		w.must(by.Create(w.Context(), a))
		return a
	}
	reports := func(a *v1alpha1.Action, reason string) {
		localtest.Eventually(w.T, a.Name+" to report "+reason, func(ctx context.Context) error {
			if err := w.admin.Get(ctx, client.ObjectKeyFromObject(a), a); err != nil {
				return err
			}
			if c := meta.FindStatusCondition(a.Status.Conditions, "Ready"); c == nil || c.Reason != reason {
				return fmt.Errorf("status %+v", a.Status)
			}
			return nil
		})
	}
	reports(export(w.a, "first", ""), "Ready")
	reports(export(w.b, "of-the-victim", ""), "Ready")
	reports(export(w.a, "second", "of-the-victim"), durable.ReasonWaiting)
	w.system.do(func() {
		want := []string{w.a.namespace + "/" + w.a.box.Name, w.b.namespace + "/" + w.b.box.Name}
		if !slices.Equal(w.system.exported, want) {
			w.Errorf("exported were %q, want %q", w.system.exported, want)
		}
	})
}

// reachVictim checks that the API server separates the tenants of these tests.
func reachVictim(w *world) {
	for _, err := range []error{
		w.a.Get(w.Context(), client.ObjectKeyFromObject(w.b.box), &box.Box{}),
		w.a.List(w.Context(), &box.BoxList{}),
		w.a.Delete(w.Context(), w.b.box),
	} {
		if !apierrors.IsForbidden(err) {
			w.Errorf("a request of the hostile tenant returned %v", err)
		}
	}
}
