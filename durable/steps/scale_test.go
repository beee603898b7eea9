package steps_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/durable/steps"
	"github.com/operon-framework/operon/local/localtest"
)

// A workload is scaled to zero only when no pod is terminating any more: the status of the workload does not count these.
func TestScaleWaitsForPodsThatTerminate(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	chosen := map[string]string{"app": "web"}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: chosen},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: chosen, Finalizers: []string{"example.com/held"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.com/web:1"}}},
		},
	}}
	if err := c.Create(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "the pod", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(web), web); err != nil {
			return err
		}
		if web.Status.ReadyReplicas != 1 {
			return errors.New("it is not ready")
		}
		return nil
	})
	at := &cluster{Client: c, t: t}
	work := func(ctx context.Context, run *durable.Run) error {
		_, err := steps.Scale(ctx, run, "down", web, 0, false)
		return err
	}
	localtest.Eventually(t, "the step to wait for the pod", func(context.Context) error {
		if phase := at.call("", work); phase.Over() {
			t.Fatalf("while a pod is terminating, the run is %s", phase)
		}
		if step := at.journal.Steps[len(at.journal.Steps)-1]; step.Name != "down" || !strings.Contains(step.Message, "to terminate") {
			return fmt.Errorf("%s: %s", step.Name, step.Message)
		}
		return nil
	})
	release(t, c, env.Namespace)
	localtest.Eventually(t, "the run to succeed", func(context.Context) error {
		if phase := at.call("", work); phase != journal.Succeeded {
			return fmt.Errorf("it is %s", phase)
		}
		return nil
	})
}

// release removes the finalizers of all pods.
func release(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	localtest.Eventually(t, "the finalizers to be removed", func(ctx context.Context) error {
		pods := &corev1.PodList{}
		if err := c.List(ctx, pods, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range pods.Items {
			pods.Items[i].Finalizers = nil
			if err := c.Update(ctx, &pods.Items[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
