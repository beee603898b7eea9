package fast_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/cluster/internal/controlplane/planetest"
)

// A deleted namespace is emptied and removed, without the five seconds that the members of larger clusters get to notice the
// deletion. No object is created in it in the meantime. An object with a finalizer blocks the removal.
func TestNamespaceGoes(t *testing.T) {
	const name = "going"
	made, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps(name)
	for _, one := range []metav1.ObjectMeta{{Name: "plain"}, {Name: "kept", Finalizers: []string{"example.com/keeps"}}} {
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: one}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
	if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("a late creation is answered by %v", err)
	}
	planetest.Eventually(t, "the plain object is gone", func(ctx context.Context) (bool, error) {
		_, err := maps.Get(ctx, "plain", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	// The controller may be deleting the object at the same time. A patch causes no conflict.
	if _, err := maps.Patch(t.Context(), "kept", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the namespace is gone", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, made.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

// No object of a namespace outlives it, regardless of where the API server stores it.
func TestNamespaceTakesAllWithIt(t *testing.T) {
	const name = "full"
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	one := metav1.ObjectMeta{Name: "one"}
	_, err := client.CoreV1().ReplicationControllers(name).Create(t.Context(), &corev1.ReplicationController{ObjectMeta: one, Spec: corev1.ReplicationControllerSpec{
		Replicas: new(int32(0)), Selector: map[string]string{"a": "b"},
		Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Services(name).Create(t.Context(), &corev1.Service{ObjectMeta: one, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.NetworkingV1().Ingresses(name).Create(t.Context(), &networkingv1.Ingress{ObjectMeta: one, Spec: networkingv1.IngressSpec{
		DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "one", Port: networkingv1.ServiceBackendPort{Number: 80}}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().Roles(name).Create(t.Context(), &rbacv1.Role{ObjectMeta: one}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the namespace is gone", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	for what, get := range map[string]func() error{
		"ReplicationController": func() error {
			_, err := client.CoreV1().ReplicationControllers(name).Get(t.Context(), one.Name, metav1.GetOptions{})
			return err
		},
		"Service": func() error {
			_, err := client.CoreV1().Services(name).Get(t.Context(), one.Name, metav1.GetOptions{})
			return err
		},
		"Ingress": func() error {
			_, err := client.NetworkingV1().Ingresses(name).Get(t.Context(), one.Name, metav1.GetOptions{})
			return err
		},
		"Role": func() error {
			_, err := client.RbacV1().Roles(name).Get(t.Context(), one.Name, metav1.GetOptions{})
			return err
		},
		"default ServiceAccount": func() error {
			_, err := client.CoreV1().ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
			return err
		},
	} {
		if err := get(); !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
