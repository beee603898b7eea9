package operon_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// TestGeneratedPassword checks that a password that Compose generates, as shown in docs/how-to, does not change.
func TestGeneratedPassword(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeContextFunc(func(ctx context.Context, b *boxtest.Box, out *operon.Composition) error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}}
		found, err := out.Get(ctx, secret)
		if err != nil {
			return err
		}
		password := secret.Data["password"]
		if !found {
			password = []byte(rand.Text())
		}
		out.Child(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: secret.Name},
			Immutable:  ptr.To(true),
			Data:       map[string][]byte{"password": password},
		})
		return nil
	}))
	box := w.Box("one", nil)
	w.IsReady(box)
	var first, now corev1.Secret
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(box), &first))
	for range 5 {
		w.Poke(box)
		w.IsReady(box)
	}
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(box), &now))
	if now.UID != first.UID || string(now.Data["password"]) != string(first.Data["password"]) || len(first.Data["password"]) == 0 {
		t.Errorf("the password %q is now %q", first.Data["password"], now.Data["password"])
	}
}

// TestClaimsAreResized checks that claims of a StatefulSet are expanded, as shown in docs/how-to, and outlive their object.
func TestClaimsAreResized(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeContextFunc(func(ctx context.Context, b *boxtest.Box, out *operon.Composition) error {
		size := resource.MustParse(b.Spec.Data["size"])
		set := storing(b.Name, size)
		live := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: set.Name}}
		found, err := out.Get(ctx, live)
		if err != nil {
			return err
		}
		if found {
			set.Spec.VolumeClaimTemplates[0].Spec.Resources = live.Spec.VolumeClaimTemplates[0].Spec.Resources
		}
		out.Child(set)
		for i := range 2 {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("data-%s-%d", set.Name, i)}}
			found, err := out.Get(ctx, claim)
			if err != nil {
				return err
			}
			if !found || claim.Spec.Resources.Requests.Storage().Cmp(size) > 0 {
				continue
			}
			out.Child(&corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Name: claim.Name},
				Spec:       corev1.PersistentVolumeClaimSpec{Resources: requesting(size)},
			}, operon.Adopt(), operon.Orphan())
		}
		return nil
	}))
	box := w.Box("one", map[string]string{"size": "1Gi"})
	w.IsReady(box)
	w.claimed("data-one-1", "1Gi")
	w.Change(box, func() { box.Spec.Data["size"] = "2Gi" })
	w.claimed("data-one-0", "2Gi")
	w.claimed("data-one-1", "2Gi")
	w.IsReady(box)
	w.Must(w.Client.Delete(t.Context(), box))
	w.Gone(box)
	w.claimed("data-one-0", "2Gi")
}

// claimed waits until a claim requests and has the given size.
func (w *fixture) claimed(name, size string) {
	w.Helper()
	w.Eventually("the claim "+name, func(ctx context.Context) error {
		var claim corev1.PersistentVolumeClaim
		if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, &claim); err != nil {
			return err
		}
		if asked, got := claim.Spec.Resources.Requests.Storage().String(), claim.Status.Capacity.Storage().String(); asked != size || got != size {
			return fmt.Errorf("it requests %s and has %s, want %s", asked, got, size)
		}
		return nil
	})
}

func requesting(size resource.Quantity) corev1.VolumeResourceRequirements {
	return corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}}
}

// storing returns a StatefulSet of two pods with one claim each.
func storing(name string, size resource.Quantity) *appsv1.StatefulSet {
	labels := map[string]string{"store": name}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To(int32(2)), ServiceName: name, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "store", Image: "example.com/store:1"}}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: requesting(size),
				},
			}},
		},
	}
}
