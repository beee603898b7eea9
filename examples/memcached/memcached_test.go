package main

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/operontest"

	"github.com/operon-framework/operon/examples/memcached/api/v1alpha1"
)

var memcached = operontest.New(Memcached{}, v1alpha1.AddToScheme).CRDs("config/crd")

func sample(t *testing.T) *v1alpha1.Memcached {
	t.Helper()
	return operontest.Sample[*v1alpha1.Memcached](t, "config/samples/memcached.yaml")
}

// The child objects of the sample are as expected, without a cluster.
func TestChildren(t *testing.T) {
	t.Parallel()
	memcached.Golden(t, sample(t), "testdata/children.yaml")
}

type (
	step   = operontest.Step[*v1alpha1.Memcached]
	expect = operontest.Expect[*v1alpha1.Memcached]
)

// The typical changes in the life of a Memcached work, in a real Kubernetes with simulated nodes.
func TestMemcached(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "config/crd")
	m := sample(t)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: m.Name}}
	var lost string
	memcached.RunOn(t, env.Config, env.Namespace, operontest.Case[*v1alpha1.Memcached]{
		Object: m,
		Reads:  []string{"Pod"},
		Expect: expect{
			Writes:     []string{"create Deployment example-memcached", "status Memcached example-memcached"},
			Events:     []string{"Created: Deployment example-memcached"},
			Conditions: []string{"Ready=False ChildNotReady", "Ready=True"},
			Status:     nodes(3, &lost),
		},
		Then: []step{{
			Name:   "a user wants four servers",
			Do:     []operontest.Change{operontest.Edit(m, func(m *v1alpha1.Memcached) { m.Spec.Size = 4 })},
			Expect: expect{Writes: []string{"change Deployment example-memcached"}, Events: []string{"Updated"}, Status: nodes(4, &lost)},
		}, {
			Name: "somebody scales the Deployment down",
			Do:   []operontest.Change{operontest.Edit(deployment, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(1)) })},
			Expect: expect{
				Writes: []string{"change Deployment example-memcached"},
				Events: []string{"Repaired: spec.replicas"},
				Status: nodes(4, &lost),
			},
		}, {
			Name:   "a pod is lost",
			Do:     []operontest.Change{lose(t, sample(t), &lost)},
			Expect: expect{Status: nodes(4, &lost)},
		}, {
			Name: "the user is done",
			Do:   []operontest.Change{operontest.Delete(m), nothingIsLeft(t)},
		}},
	})
}

// nodes expects the status to contain the wanted number of nodes, and not the lost one.
func nodes(want int, lost *string) func(*v1alpha1.Memcached) error {
	return func(m *v1alpha1.Memcached) error {
		if len(m.Status.Nodes) != want || slices.Contains(m.Status.Nodes, *lost) {
			return fmt.Errorf("the nodes are %q, want %d and not %q", m.Status.Nodes, want, *lost)
		}
		return nil
	}
}

// lose immediately deletes a pod that is one of the nodes.
func lose(t *testing.T, m *v1alpha1.Memcached, lost *string) operontest.Change {
	return func(_ context.Context, p operontest.Place) error {
		// Earlier pods may just be being deleted, which the status reports with a delay.
		localtest.Eventually(t, "a pod to lose", func(ctx context.Context) error {
			if err := p.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: m.Name}, m); err != nil {
				return err
			}
			*lost = m.Status.Nodes[0]
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: *lost}}
			return p.Client.Delete(ctx, pod, client.GracePeriodSeconds(0))
		})
		return nil
	}
}

// nothingIsLeft waits until garbage collection has deleted the pods.
func nothingIsLeft(t *testing.T) operontest.Change {
	return func(_ context.Context, p operontest.Place) error {
		localtest.Eventually(t, "nothing to be left", func(ctx context.Context) error {
			var pods corev1.PodList
			err := p.List(ctx, &pods, client.InNamespace(p.Namespace))
			if err == nil && len(pods.Items) > 0 {
				return fmt.Errorf("there are %d pods", len(pods.Items))
			}
			return err
		})
		return nil
	}
}
