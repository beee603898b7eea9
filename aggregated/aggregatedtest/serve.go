// Package aggregatedtest runs an operator that is an aggregated API server in your test. [Serve] starts a cluster
// for this test alone, because an API belongs to the whole cluster, and runs the operator behind a Service
// until the test ends. Your test then does what users do: it sends requests to the cluster's API server.
package aggregatedtest

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// service leads to the operator.
const service = "api"

// Serve starts a cluster and an operator of a part on it, and returns when API servers pass on requests for
// all of versions. The address is the operator's own, HOST:PORT, where nobody but API servers is answered.
func Serve(t testing.TB, part operon.Option, versions ...schema.GroupVersion) (env *localtest.Env, address string) {
	t.Helper()
	env = localtest.New(t, local.Options{})
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	lead := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: service},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	if err := c.Create(t.Context(), lead); err != nil {
		t.Fatal(err)
	}
	address = testaid.FreeAddress(t)
	run(t, env, operon.Webhooks{BindAddress: address, Service: service, Namespace: env.Namespace, ServicePort: int32(netip.MustParseAddrPort(address).Port())}, part)
	for _, version := range versions {
		localtest.Eventually(t, version.String()+" to be served", func(ctx context.Context) error {
			if err := available(ctx, c, version); err != nil {
				return err
			}
			return passedOn(ctx, found, version)
		})
	}
	return env, address
}

// run runs the operator until the test ends.
func run(t testing.TB, env *localtest.Env, at operon.Webhooks, part operon.Option) {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- operon.Run(ctx, "api-operator", env.Config, operon.Config{Webhooks: at}, part) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// passedOn returns why clients cannot use a version yet. An API server uses what it discovered a moment later, and its
// aggregated discovery follows after that.
func passedOn(ctx context.Context, found *discovery.DiscoveryClient, version schema.GroupVersion) error {
	if err := found.RESTClient().Get().AbsPath("/apis", version.Group, version.Version).Do(ctx).Error(); err != nil {
		return err
	}
	_, all, err := found.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(one *metav1.APIResourceList) bool { return one.GroupVersion == version.String() }) {
		return fmt.Errorf("%s is not discovered", version)
	}
	return nil
}

// available returns why an API server does not forward requests yet.
func available(ctx context.Context, c client.Client, version schema.GroupVersion) error {
	live := &unstructured.Unstructured{}
	live.SetAPIVersion("apiregistration.k8s.io/v1")
	live.SetKind("APIService")
	if err := c.Get(ctx, client.ObjectKey{Name: version.Version + "." + version.Group}, live); err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(live.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, one := range conditions {
		if condition, ok := one.(map[string]any); ok && condition["type"] == "Available" && condition["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("its conditions are %v", conditions)
}
