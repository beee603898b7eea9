package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/examples/memcached/api/v1alpha1"
)

// The walk through an operator's day, on a real Kubernetes with simulated nodes.
func TestMemcached(t *testing.T) {
	t.Parallel()
	k := start(t)
	m := &v1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Name: "example-memcached", Namespace: k.Namespace},
		Spec:       v1alpha1.MemcachedSpec{Size: 3},
	}
	k.must(k.Create(t.Context(), m))
	k.has(m, 3, localtest.Patience)

	m.Spec.Size = 4
	k.must(k.Patch(t.Context(), m, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":4}}`))))
	k.has(m, 4, 2*time.Second)

	deployment := &appsv1.Deployment{ObjectMeta: m.ObjectMeta}
	k.must(k.Patch(t.Context(), deployment, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":1}}`))))
	k.event("Repaired", "spec.replicas")
	k.has(m, 4, localtest.Patience)

	lost := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: m.Status.Nodes[0], Namespace: k.Namespace}}
	k.must(k.Client.Delete(t.Context(), lost, client.GracePeriodSeconds(0)))
	localtest.Eventually(t, "another pod in its place", func(ctx context.Context) error {
		if err := k.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		if slices.Contains(m.Status.Nodes, lost.Name) {
			return fmt.Errorf("the nodes are %q", m.Status.Nodes)
		}
		return nil
	})
	k.has(m, 4, localtest.Patience)

	k.must(k.Client.Delete(t.Context(), m))
	localtest.Eventually(t, "nothing to be left", func(ctx context.Context) error {
		pods, err := k.pods(ctx)
		if err == nil && len(pods) > 0 {
			return fmt.Errorf("pods %q", pods)
		}
		return err
	})
}

// cluster is a namespace with the operator at work in it.
type cluster struct {
	client.Client
	*localtest.Env
	t *testing.T
}

func start(t *testing.T) *cluster {
	t.Helper()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "config/crd")
	scheme := runtime.NewScheme()
	k := &cluster{Env: env, t: t}
	k.must(clientgoscheme.AddToScheme(scheme))
	k.must(v1alpha1.AddToScheme(scheme))
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	k.must(err)
	k.Client = c

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- operon.Run(ctx, "memcached-operator", env.Config, operon.Config{Namespace: env.Namespace},
			operon.API(v1alpha1.AddToScheme), operon.Manage(Memcached{}))
	}()
	t.Cleanup(func() {
		stop()
		k.must(<-ended)
	})
	return k
}

func (k *cluster) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// has waits until m has so many nodes, which are the pods that there are.
func (k *cluster) has(m *v1alpha1.Memcached, nodes int, limit time.Duration) {
	k.t.Helper()
	localtest.Within(k.t, limit, fmt.Sprintf("%d nodes", nodes), func(ctx context.Context) error {
		if err := k.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		pods, err := k.pods(ctx)
		if err != nil {
			return err
		}
		if len(m.Status.Nodes) != nodes || !slices.Equal(m.Status.Nodes, pods) {
			return fmt.Errorf("status.nodes %q, pods %q", m.Status.Nodes, pods)
		}
		return nil
	})
}

func (k *cluster) pods(ctx context.Context) ([]string, error) {
	var list corev1.PodList
	err := k.List(ctx, &list, client.InNamespace(k.Namespace))
	var names []string
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names, err
}

func (k *cluster) event(reason, text string) {
	k.t.Helper()
	localtest.Eventually(k.t, "event "+reason, func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := k.List(ctx, &list, client.InNamespace(k.Namespace)); err != nil {
			return err
		}
		found := slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool {
			return e.Reason == reason && strings.Contains(e.Note, text)
		})
		if !found {
			return fmt.Errorf("none among %d", len(list.Items))
		}
		return nil
	})
}
