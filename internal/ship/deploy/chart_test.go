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

// testChart: an unchanged project of a chart with the layout of Operator SDK runs with the permissions that it
// declares.
func testChart(t *testing.T, c *containers) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../tools/project/testdata/helm-sdk")); err != nil {
		t.Fatal(err)
	}
	p := c.project(t, dir, "till-operator")
	p.deploy(t, nil)
	tills := c.objects(schema.GroupVersionResource{Group: "charts.example.com", Version: "v1alpha1", Resource: "tills"}, c.env.Namespace)
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"image": map[string]any{"repository": "memcached", "tag": "1.6-alpine"},
	}}}
	made.SetAPIVersion("charts.example.com/v1alpha1")
	made.SetKind("Till")
	made.SetName("front")
	create(t, tills, made)
	localtest.Eventually(t, "the chart's object to be ready", func(ctx context.Context) error {
		found, err := tills.Get(ctx, "front", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return objectReady(found)
	})
	running, err := c.client.AppsV1().Deployments(c.env.Namespace).Get(t.Context(), "front", metav1.GetOptions{})
	if err != nil || running.Status.AvailableReplicas != 1 {
		t.Errorf("the Deployment of the chart: %v, %v", running.Status, err)
	}
	p.undeploy(t)
	localtest.Eventually(t, "the Deployment to go with its owner", func(ctx context.Context) error {
		_, err := c.client.AppsV1().Deployments(c.env.Namespace).Get(ctx, "front", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there (%v)", err)
	})
}

// objectReady returns an error unless the condition Ready of an object is true.
func objectReady(object *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, one := range conditions {
		if condition, is := one.(map[string]any); is && condition["type"] == "Ready" && condition["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("its conditions are %v", conditions)
}
