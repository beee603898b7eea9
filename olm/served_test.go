package main

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/ship/catalog/serve"
	"github.com/operon-framework/operon/internal/ship/catalog/store"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// A catalog can be on a server, as those of the Operator Lifecycle Manager are. It is read again when the CatalogSource
// changes. The next version replaces the first one by its skipRange.
func TestServedCatalog(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	file := filepath.Join(t.TempDir(), "catalog.yaml")
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	testaid.Write(t, file, w.content(bundles, "- {name: memcached-operator.v0.0.1}\n"))
	address := w.serveCatalog(filepath.Dir(file))
	source := &v1alpha1.CatalogSource{ObjectMeta: w.Named("shop"), Spec: v1alpha1.CatalogSourceSpec{SourceType: "grpc", Address: address}}
	w.Add(w.operatorGroup("group"), source, w.subscribe("shop"))
	old := w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitState(first + " AtLatestKnown")
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(source), source))
	if state := source.Status.ConnectionState; state.Address != address || state.LastObservedState != v1alpha1.StateReady || source.Status.Packages != 1 {
		t.Errorf("the status is %+v, %+v", source.Status, state)
	}

	bundles["0.0.2"] = w.bundle(r, "0.0.2", version("0.0.2", "0.0.1"))
	delete(bundles, "0.0.1") // as in catalogs that only have the newest version
	testaid.Write(t, file, w.content(bundles, "- {name: memcached-operator.v0.0.2, skipRange: <0.0.2}\n"))
	localtest.Eventually(t, "the catalog was read again", func(context.Context) error { // the server sees the file some time later
		w.patch(source, fmt.Sprintf(`{"spec":{"priority":%d}}`, source.Spec.Priority+1))
		versions := &v1alpha1.ClusterServiceVersionList{}
		w.Must(w.List(t.Context(), versions, client.InNamespace(w.Namespace)))
		for _, one := range versions.Items {
			if one.Name == second {
				return nil
			}
		}
		return fmt.Errorf("there is no version %s", second)
	})
	w.awaitState(second + " AtLatestKnown")
	w.AwaitGone(old)
}

// serveCatalog serves the catalog in a directory until the test ends, and returns the address.
func (w *world) serveCatalog(dir string) string {
	w.Helper()
	server, err := serve.Listen(w.Context(), serve.Options{Cache: store.Options{Sources: []string{dir}, Dir: w.TempDir()}, GRPC: "127.0.0.1:0", Report: func(string) {}})
	w.Must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := localtest.Receive(w.T, "the end of the server", ended); err != nil {
			w.Error(err)
		}
	})
	return server.GRPC()
}
