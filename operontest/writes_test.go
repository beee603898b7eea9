package operontest_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/operontest"
)

// sweeper is a composer with a workflow that waits for the ConfigMap go, and then sends one write of each rare form.
type sweeper struct{}

func (sweeper) Compose(context.Context, *box.Box, *operon.Composition) error { return nil }

func (sweeper) RunWorkflow(ctx context.Context, b *box.Box, run *durable.Run) error {
	_, err := durable.Do(ctx, run, durable.Step[bool]{
		Name: "sweep",
		Do: func(ctx context.Context, a *durable.Attempt) (bool, error) {
			if found, err := a.Get(ctx, config("go", "", "")); err != nil || !found {
				return false, errors.Join(err, durable.Wait("for go"))
			}
			return true, sweep(ctx, a.Client, b.Namespace)
		},
	})
	return err
}

func sweep(ctx context.Context, c client.Client, namespace string) error {
	status := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "status": map[string]any{"reason": "Swept"}}}
	status.SetName("left")
	status.SetNamespace(namespace)
	gone := pod("gone")
	gone.Namespace = namespace
	return errors.Join(
		c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace), client.MatchingLabels{"dust": "yes"}),
		c.SubResource("eviction").Create(ctx, gone, &policyv1.Eviction{}),
		c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(status), client.FieldOwner("sweeper")),
		c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace), client.DryRunAll),
	)
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}}}
}

// Writes of all objects of a kind and of subresources are recorded, and can be refused.
func TestRareWrites(t *testing.T) {
	t.Parallel()
	const status = "status Box one"
	rare := []string{"delete ConfigMap *", "eviction Pod gone", "status Pod left"}
	dust := config("dust", "", "")
	dust.Labels = map[string]string{"dust": "yes"}
	c := operontest.Case[*box.Box]{
		Given:  []client.Object{pod("gone"), pod("left"), dust},
		Object: &box.Box{ObjectMeta: metav1.ObjectMeta{Name: "one"}},
		Reads:  []string{"ConfigMap go"},
		Expect: operontest.Expect[*box.Box]{Writes: []string{status, status}},
	}
	run := func(name string, then ...operontest.Step[*box.Box]) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := c
			one.Then = then
			operontest.New(sweeper{}, box.AddToScheme).RunOne(t, one)
		})
	}
	start := operontest.Create(config("go", "", ""))
	done := operontest.Expect[*box.Box]{Writes: append(rare[:len(rare):len(rare)], status), Events: []string{"Ready"}}
	run("recorded", operontest.Step[*box.Box]{Do: []operontest.Change{start}, Expect: done})
	for i, write := range rare {
		others := append(append([]string(nil), rare[:i]...), rare[i+1:]...)
		no := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("not now"))
		run("refused "+write, operontest.Step[*box.Box]{
			Do: []operontest.Change{operontest.Refuse(write, no), start},
			Expect: operontest.Expect[*box.Box]{
				Writes: append(others, status), Events: []string{"StepRetrying"}, Conditions: []string{"Ready=False StepRetrying"},
			},
		})
	}
}
