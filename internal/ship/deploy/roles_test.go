package deploy_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/local/localtest"
)

// testRoles: an unchanged project of Ansible roles with the layout of Operator SDK runs in an image of Debian packages, with a read-only
// root file system and the permissions that it declares. Its finalizer runs.
func testRoles(t *testing.T, c *containers) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../tools/project/testdata/ansible-sdk")); err != nil {
		t.Fatal(err)
	}
	p := c.project(t, dir, "kiosk-operator")
	p.deploy(t, nil)
	kiosks := c.objects(schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "kiosks"}, c.env.Namespace)
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	made.SetAPIVersion("cache.example.com/v1alpha1")
	made.SetKind("Kiosk")
	made.SetName("corner")
	create(t, kiosks, made)
	localtest.Eventually(t, "the role's object to be ready", func(ctx context.Context) error {
		found, err := kiosks.Get(ctx, "corner", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return objectReady(found)
	})
	running, err := c.client.AppsV1().Deployments(c.env.Namespace).Get(t.Context(), "corner-memcached", metav1.GetOptions{})
	if err != nil || running.Status.AvailableReplicas != 1 || len(running.OwnerReferences) != 1 {
		t.Errorf("the Deployment of the role: %+v, %v", running, err)
	}
	if err := kiosks.Delete(t.Context(), "corner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "the object and its Deployment to be deleted", func(ctx context.Context) error {
		_, err := kiosks.Get(ctx, "corner", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the object still exists (%v)", err)
		}
		if _, err = c.client.AppsV1().Deployments(c.env.Namespace).Get(ctx, "corner-memcached", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Deployment still exists (%v)", err)
		}
		return nil
	})
	p.undeploy(t)
}
