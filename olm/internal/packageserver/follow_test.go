package packageserver

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/aggregated"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/ship/image/pulled"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

// sources are the CatalogSources of a cluster.
type sources []v1alpha1.CatalogSource

func (s sources) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("not expected")
}

func (s sources) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.CatalogSourceList).Items = slices.Clone(s) //nolint:forcetypeassert // the reader lists nothing else
	return nil
}

const shop = `{"schema":"olm.package","name":"till","defaultChannel":"stable"}
{"schema":"olm.channel","package":"till","name":"stable","entries":[{"name":"till.v1.0.0"}]}
{"schema":"olm.bundle","package":"till","name":"till.v1.0.0","image":"till:1","properties":[{"type":"olm.package","value":{"packageName":"till","version":"1.0.0"}}]}
`

// A replica that has not read a catalog does not answer that it has no packages, and reads it after the leader.
func TestCatalogThatOnlyTheLeaderHasRead(t *testing.T) {
	t.Parallel()
	registry := registrytest.New(t)
	one := v1alpha1.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", UID: "a"}}
	one.Spec.Image = registry.Push("shop:1", map[string]string{"configs/catalog.json": shop})
	all := sources{one}
	r := &Reader{Catalogs: &catalogs.Catalogs{Images: pulled.New(t.TempDir(), pulled.DefaultLimits)}, sources: all}
	key := client.ObjectKey{Namespace: "shops", Name: "till"}
	for state, unavailable := range map[string]bool{v1alpha1.StateReady: true, v1alpha1.StateTransientFailure: false} {
		all[0].Status.ConnectionState = &v1alpha1.ConnectionState{LastObservedState: state}
		if _, err := r.List(t.Context(), "shops"); apierrors.IsServiceUnavailable(err) != unavailable {
			t.Errorf("%s: the list: %v", state, err)
		}
		if _, err := r.Get(t.Context(), key); apierrors.IsServiceUnavailable(err) != unavailable || errors.Is(err, aggregated.ErrNotFound) == unavailable {
			t.Errorf("%s: one: %v", state, err)
		}
	}
	all[0].Status.ConnectionState.LastObservedState = v1alpha1.StateReady
	followed := map[client.ObjectKey]string{}
	for tag, digest := range map[string]string{"shop:1": "first", "shop:2": "second"} {
		all[0].Spec.Image, all[0].Status.Digest = registry.Push(tag, map[string]string{"configs/catalog.json": shop}), digest
		if err := r.follow(t.Context(), followed); err != nil {
			t.Fatal(err)
		}
		if found, err := r.List(t.Context(), "shops"); err != nil || len(found) != 1 || r.Catalogs.Of(&all[0]).Reference() != all[0].Spec.Image {
			t.Errorf("%s: there are %+v, error %v", tag, found, err)
		}
	}
	if r.gone(&all[0]); r.Catalogs.Of(&all[0]) != nil {
		t.Error("the catalog of a deleted CatalogSource is kept")
	}
}
