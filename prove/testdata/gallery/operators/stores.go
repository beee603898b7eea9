package operators

import (
	"context"
	"crypto/rand"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// storeFinalizer holds a Store until what belongs to it is gone.
const storeFinalizer = "gallery.operon.dev/store"

// storeKinds are those of a Store's children.
func storeKinds() []client.Object {
	return []client.Object{&appsv1.StatefulSet{}, &corev1.Service{}, &corev1.Secret{}, &corev1.ConfigMap{}}
}

// keepPassword makes a password, once.
func keepPassword(ctx context.Context, c client.Client, store *api.Store) error {
	secret := &corev1.Secret{ObjectMeta: named(store, "-password")}
	return keep(ctx, c, store, secret, func() {
		if len(secret.Data["password"]) == 0 {
			secret.Data = map[string][]byte{"password": []byte(rand.Text())}
		}
	})
}

// keepSettings keeps the ConfigMap with a Store's configuration.
func keepSettings(ctx context.Context, c client.Client, store *api.Store) error {
	config := &corev1.ConfigMap{ObjectMeta: named(store, "-settings")}
	return keep(ctx, c, store, config, func() {
		config.Data = with(store.Spec.Settings, map[string]string{"version": store.Spec.Version})
	})
}

// keepMembers keeps the Service that names the members.
func keepMembers(ctx context.Context, c client.Client, store *api.Store) error {
	service := &corev1.Service{ObjectMeta: named(store, "")}
	return keep(ctx, c, store, service, func() {
		service.Spec.ClusterIP = corev1.ClusterIPNone
		service.Spec.Selector = labels(store)
		service.Spec.PublishNotReadyAddresses = true
	})
}

// keepSet keeps a Store's StatefulSet, and returns it as it is now.
func keepSet(ctx context.Context, c client.Client, store *api.Store) (*appsv1.StatefulSet, error) {
	set := &appsv1.StatefulSet{ObjectMeta: named(store, "")}
	return set, keep(ctx, c, store, set, func() { fillSet(set, store) })
}

// fillSet sets what a Store says. Its claims are made by Kubernetes, and go with it.
func fillSet(set *appsv1.StatefulSet, store *api.Store) {
	set.Spec.Replicas = ptr.To(store.Spec.Size)
	if set.Spec.Selector == nil {
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels(store)}
		set.Spec.ServiceName = store.Name
		set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec(store),
		}}
		set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
			WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		}
	}
	fillMember(&set.Spec.Template, store)
}

// fillMember sets what the pod of a member is.
func fillMember(template *corev1.PodTemplateSpec, store *api.Store) {
	template.Labels = with(template.Labels, labels(store))
	template.Annotations = with(template.Annotations, map[string]string{configHash: hash(store.Spec.Settings)})
	if len(template.Spec.Containers) != 1 {
		template.Spec.Containers = make([]corev1.Container, 1)
	}
	container := &template.Spec.Containers[0]
	container.Name, container.Image = "store", "example.com/store:"+store.Spec.Version
	container.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
}

func claimSpec(store *api.Store) corev1.PersistentVolumeClaimSpec {
	size := resource.MustParse(fmt.Sprintf("%dGi", store.Spec.Storage.Gigabytes))
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
	}
}

// reportStore writes a Store's status, where it is not that already.
func reportStore(ctx context.Context, c client.Client, store *api.Store, set *appsv1.StatefulSet) error {
	before := store.Status.DeepCopy()
	ready := complete(set)
	store.Status.ObservedGeneration = store.Generation
	store.Status.ReadyMembers = set.Status.ReadyReplicas
	if ready {
		store.Status.Version = store.Spec.Version
	}
	meta.SetStatusCondition(&store.Status.Conditions, readiness(store, ready, "AllMembers"))
	if equality.Semantic.DeepEqual(*before, store.Status) {
		return nil
	}
	return c.Status().Update(ctx, store)
}

// complete tells that all pods of a StatefulSet are of its newest template, and ready.
func complete(set *appsv1.StatefulSet) bool {
	wanted := ptr.Deref(set.Spec.Replicas, 1)
	return set.Status.ObservedGeneration >= set.Generation && set.Status.Replicas == wanted &&
		set.Status.ReadyReplicas == wanted && set.Status.CurrentRevision == set.Status.UpdateRevision
}
