package reset_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/controlplane/planetest"
	"github.com/operon-framework/operon/cluster/internal/controlplane/reset"
)

// The control plane of this test binary has no accelerations: a reset does not need them.
var (
	resetter *reset.Resetter
	client   *kubernetes.Clientset
)

func TestMain(m *testing.M) {
	os.Exit(planetest.Run(m, func(ctx context.Context, cfg controlplane.Config) (*controlplane.ControlPlane, error) {
		resetter = reset.New(cfg)
		plane, err := controlplane.Start(ctx, cfg, resetter.Extension())
		if err != nil {
			return nil, err
		}
		if client, err = kubernetes.NewForConfig(plane.AdminConfig()); err != nil {
			return nil, err
		}
		return plane, resetter.RememberFirst(ctx, plane, "sim")
	}))
}

func TestReset(t *testing.T) {
	for i := range 200 {
		createConfigMap(t, metav1.NamespaceDefault, fmt.Sprintf("reset-%d", i))
	}
	stuck := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "stuck", Finalizers: []string{"example.com/never"}}}
	if _, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), stuck, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.RbacV1().ClusterRoles().Delete(t.Context(), "view", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := resetter.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := client.CoreV1().ConfigMaps(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range left.Items {
		if object.Namespace == metav1.NamespaceDefault && object.Name != "kube-root-ca.crt" || object.Namespace == "team" {
			t.Errorf("%s/%s outlived the reset", object.Namespace, object.Name)
		}
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "team", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace team outlived the reset: %v", err)
	}
	if _, err := client.RbacV1().ClusterRoles().Get(t.Context(), "view", metav1.GetOptions{}); err != nil {
		t.Errorf("what was deleted is not back: %v", err)
	}
	createConfigMap(t, metav1.NamespaceDefault, "after") // the cluster continues to work
}

func createConfigMap(t *testing.T, namespace, name string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
