package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/prove"

	"github.com/operon-framework/operon/examples/memcached/api/v1alpha1"
)

// Regardless of the injected faults, the operator converges to the same state. `operon prove` tests the same more thoroughly,
// with the program itself.
func TestReliable(t *testing.T) {
	t.Parallel()
	prove.Run(t, prove.Test{
		CRDs: "config/crd", Samples: "config/samples", RBAC: "config/rbac",
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			return operon.Run(ctx, "memcached-operator", config, operon.Config{Namespace: namespace},
				operon.API(v1alpha1.AddToScheme), operon.Manage(Memcached{}))
		},
	})
}

// Two replicas that share the objects, and replicas that take over from them, also converge to the same state.
func TestReliableWhereReplicasShare(t *testing.T) {
	t.Parallel()
	prove.Run(t, prove.Test{
		CRDs: "config/crd", Samples: "config/samples",
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			lease, ended := shortestLease(ctx, config), make(chan error, 2)
			for range cap(ended) {
				go func() {
					ended <- operon.Run(ctx, "memcached-operator", config, operon.Config{Namespace: namespace, Shards: 6, ShardLease: lease},
						operon.API(v1alpha1.AddToScheme), operon.Manage(Memcached{}))
				}()
			}
			return errors.Join(<-ended, <-ended)
		},
	})
}

// shortestLease returns a lease whose renewal, which is canceled after a third of it, is in time on this machine. Nothing happens until the leases
// of killed replicas have expired. Prove waits for three seconds, and longer only where requests take long.
func shortestLease(ctx context.Context, config *rest.Config) time.Duration {
	const shortest, longest = 2 * time.Second, 15 * time.Second
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return shortest
	}
	began := time.Now()
	if _, err := api.ServerVersionWithContext(ctx); err != nil {
		return shortest // a fault
	}
	return min(max(30*time.Since(began), shortest), longest).Truncate(time.Second)
}
