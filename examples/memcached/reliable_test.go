package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/prove"

	"github.com/operon-framework/operon/examples/memcached/api/v1alpha1"
)

// Whatever goes wrong, the operator comes to the same end. `operon prove` does the same, at
// greater length, with the program itself.
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

// So do two replicas that share the objects, and those that take over from them.
func TestReliableWhereReplicasShare(t *testing.T) {
	t.Parallel()
	prove.Run(t, prove.Test{
		CRDs: "config/crd", Samples: "config/samples",
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			ended := make(chan error, 2)
			for range cap(ended) {
				go func() {
					ended <- operon.Run(ctx, "memcached-operator", config, operon.Config{Namespace: namespace, Shards: 6, ShardLease: 2 * time.Second},
						operon.API(v1alpha1.AddToScheme), operon.Manage(Memcached{}))
				}()
			}
			return errors.Join(<-ended, <-ended)
		},
	})
}
