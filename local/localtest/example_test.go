package localtest_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// A test in its own namespace, on the cluster that all tests share. The service account controller gives each namespace
// a ServiceAccount.
func ExampleShared() {
	var t *testing.T // the parameter of your test
	env := localtest.Shared(t)
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "the default ServiceAccount", func(ctx context.Context) error {
		return c.Get(ctx, client.ObjectKey{Namespace: env.Namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
}

// A test that changes cluster-wide state starts its own cluster, here with two nodes.
func ExampleNew() {
	var t *testing.T // the parameter of your test
	env := localtest.New(t, local.Options{Nodes: 2})
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "two nodes", func(ctx context.Context) error {
		var nodes corev1.NodeList
		if err := c.List(ctx, &nodes); err != nil {
			return err
		}
		if len(nodes.Items) != 2 {
			return fmt.Errorf("%d nodes", len(nodes.Items))
		}
		return nil
	})
}

// A stale cache: while the gate is shut, it does not contain a ConfigMap that exists.
func ExampleGate() {
	var t *testing.T // the parameter of your test
	env := localtest.Shared(t)
	gate := &localtest.Gate{}
	cached, err := cache.New(gate.Config(env.Config), cache.Options{DefaultNamespaces: map[string]cache.Config{env.Namespace: {}}})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = cached.Start(t.Context()) }()
	if _, err := cached.GetInformer(t.Context(), &corev1.ConfigMap{}); err != nil {
		t.Fatal(err)
	}
	direct, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}

	gate.Shut()
	late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "late"}}
	if err := direct.Create(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	if err := cached.Get(t.Context(), client.ObjectKeyFromObject(late), late); !apierrors.IsNotFound(err) {
		t.Errorf("the stale cache returned %v, want not found", err)
	}

	gate.Open()
	localtest.Eventually(t, "the ConfigMap in the cache", func(ctx context.Context) error {
		return cached.Get(ctx, client.ObjectKeyFromObject(late), late)
	})
}
