package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/prove"

	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/csv"
)

// Regardless of the injected faults, an operator without a catalog is installed and removed.
func TestReliable(t *testing.T) {
	t.Parallel()
	prove.Run(t, prove.Test{CRDs: "config/crd", Samples: "config/samples", RBAC: "config/rbac", Accept: "testdata/accept-csv.yaml", Start: starter(t)})
}

// Regardless of the injected faults, a Subscription installs its operator.
func TestSubscriptionsAreReliable(t *testing.T) {
	t.Parallel()
	r, dir := registrytest.New(t), t.TempDir()
	w := &world{T: t, Env: &localtest.Env{Namespace: "reliable"}, group: "reliable.example.com"}
	source := w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n")
	for file, content := range map[string]any{
		"group.yaml": map[string]any{"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "metadata": map[string]any{"name": "all"}},
		"source.yaml": map[string]any{
			"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource", "metadata": map[string]any{"name": "shop"},
			"spec": map[string]any{"sourceType": "grpc", "image": source.Spec.Image},
		},
		"subscription.yaml": map[string]any{
			"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": map[string]any{"name": "memcached"},
			"spec": map[string]any{"source": "shop", "name": "memcached"},
		},
	} {
		text, err := yaml.Marshal(content)
		w.Must(err)
		w.Must(os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	prove.Run(t, prove.Test{CRDs: "config/crd", Samples: dir, RBAC: "config/rbac", Accept: "testdata/accept.yaml", Start: starter(t)})
}

// starter returns a function that runs the manager in one namespace.
func starter(t *testing.T) func(context.Context, *rest.Config, string) error {
	cache := t.TempDir()
	return func(ctx context.Context, config *rest.Config, namespace string) error {
		return operon.Run(ctx, "olm", config, operon.Config{Namespace: namespace}, options(cache, &csv.Composer{Clock: clock.RealClock{}}, false)...)
	}
}
