package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"

	packagesv1 "github.com/operon-framework/operon/internal/olm/api/packages/v1"
	operatorsv1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// newServing returns a cluster with a manager that API servers reach, and the settings for another one.
func newServing(t *testing.T) (*world, operon.Webhooks) {
	t.Helper()
	w := &world{T: t, Env: localtest.New(t, local.Options{Nodes: 1})}
	w.connect()
	w.Add(&corev1.Service{ObjectMeta: w.Named("api"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}})
	address := testaid.FreeAddress(t)
	return w, operon.Webhooks{BindAddress: address, Service: "api", Namespace: w.Namespace, ServicePort: int32(netip.MustParseAddrPort(address).Port())}
}

// shopCatalog returns a catalog of memcached with a description, whose display name is that of the catalog.
func (w *world) shopCatalog(r *registrytest.Registry, namespace, name, more string) *v1alpha1.CatalogSource {
	w.Helper()
	image := r.Push(name+":latest", map[string]string{"configs/memcached/catalog.yaml": `
schema: olm.package
name: memcached
defaultChannel: stable
icon: {base64data: PHN2Zy8+, mediatype: image/svg+xml}
---
schema: olm.channel
package: memcached
name: stable
entries:
- {name: memcached-operator.v0.0.1}
---
schema: olm.bundle
package: memcached
name: memcached-operator.v0.0.1
image: registry.example.com/memcached:0.0.1
properties:
- {type: olm.package, value: {packageName: memcached, version: 0.0.1}}
- {type: olm.csv.metadata, value: {displayName: Memcached, provider: {name: Example}}}
` + more})
	return &v1alpha1.CatalogSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"team": name}},
		Spec:       v1alpha1.CatalogSourceSpec{SourceType: "grpc", Image: image, DisplayName: "The " + name},
	}
}

const deprecation = `---
schema: olm.deprecations
package: memcached
entries:
- {reference: {schema: olm.package}, message: use another one}
`

// PackageManifests are served for the catalogs of a namespace and the global ones, and a watch follows the catalogs.
func TestPackageManifests(t *testing.T) {
	t.Parallel()
	w, hooks := newServing(t)
	r := registrytest.New(t)
	w.serve(hooks, true)
	for _, name := range []string{globalNamespace, "other"} {
		w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	own := w.shopCatalog(r, w.Namespace, "shop", "")
	w.Add(own, w.shopCatalog(r, globalNamespace, "global", ""), w.shopCatalog(r, "other", "elsewhere", ""))
	scheme := runtime.NewScheme()
	w.Must(packagesv1.AddToScheme(scheme))
	c, err := client.NewWithWatch(w.Config, client.Options{Scheme: scheme})
	w.Must(err)
	w.listed(c, "global shop", client.InNamespace(w.Namespace))
	w.listed(c, "elsewhere global", client.InNamespace("other"))
	w.listed(c, "elsewhere global shop")
	w.listed(c, "global", client.InNamespace(w.Namespace), client.MatchingLabels{"catalog": "global", "catalog-namespace": globalNamespace})
	w.listed(c, "shop", client.InNamespace(w.Namespace), client.MatchingLabels{"team": "shop", "provider": "Example"})

	one := &packagesv1.PackageManifest{}
	w.Must(c.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "memcached"}, one))
	if one.Status.CatalogSource != "shop" || one.Status.Channels[0].CurrentCSVDesc.DisplayName != "Memcached" || one.Status.Deprecation != nil {
		t.Errorf("the package is %+v", one.Status)
	}
	w.table()
	w.icon()
	w.installedElsewhere(c)

	events, err := c.Watch(t.Context(), &packagesv1.PackageManifestList{}, client.InNamespace(w.Namespace), client.MatchingLabels{"catalog": "shop"})
	w.Must(err)
	defer events.Stop()
	w.event(events, watch.Added, "")
	newer := w.shopCatalog(r, w.Namespace, "newer", deprecation)
	w.Must(w.Patch(t.Context(), own, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"image":%q}}`, newer.Spec.Image))))
	w.event(events, watch.Modified, "use another one")
	w.Must(w.Delete(t.Context(), own))
	w.event(events, watch.Deleted, "use another one")
}

// A manager that serves no PackageManifests removes the APIService of one that did: no server would answer.
func TestPackageManifestsAreTurnedOff(t *testing.T) {
	t.Parallel()
	w, hooks := newServing(t)
	service := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1.packages.operators.coreos.com"}}
	stop := w.serve(hooks, true)
	localtest.Eventually(t, "the APIService exists", func(ctx context.Context) error { return w.Get(ctx, client.ObjectKeyFromObject(service), service) })
	stop()
	w.serve(hooks, false)
	w.AwaitGone(service)
}

// listed waits until a list has the packages of catalogs.
func (w *world) listed(c client.Client, want string, options ...client.ListOption) {
	w.Helper()
	localtest.Eventually(w.T, "the packages of "+want, func(ctx context.Context) error {
		var all packagesv1.PackageManifestList
		if err := c.List(ctx, &all, options...); err != nil {
			return err
		}
		var names []string
		for _, one := range all.Items {
			names = append(names, one.Status.CatalogSource)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			return fmt.Errorf("they are of %q", got)
		}
		return nil
	})
}

// table checks what kubectl shows.
func (w *world) table() {
	w.Helper()
	connection, err := kubernetes.NewForConfig(w.Config)
	w.Must(err)
	raw, err := connection.RESTClient().Get().AbsPath("/apis/packages.operators.coreos.com/v1/namespaces/"+w.Namespace+"/packagemanifests").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(w.Context())
	w.Must(err)
	var table metav1.Table
	w.Must(json.Unmarshal(raw, &table))
	var columns []string
	for _, one := range table.ColumnDefinitions {
		columns = append(columns, one.Name)
	}
	if got := strings.Join(columns, " "); got != "Name Catalog Installed Age" {
		w.Errorf("the columns are %q", got)
	}
	if len(table.Rows) != 2 || table.Rows[0].Cells[1] != "The shop" {
		w.Errorf("the rows are %+v", table.Rows)
	}
}

// installedElsewhere installs a version in the global namespace, for all namespaces, which others see.
func (w *world) installedElsewhere(c client.Client) {
	w.Helper()
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: globalNamespace, Name: "memcached-operator.v0.0.1", Annotations: map[string]string{
		"operatorframework.io/properties": `{"properties":[{"type":"olm.package","value":{"packageName":"memcached","version":"0.0.1"}}]}`,
	}}}
	csv.Spec.Version = "0.0.1"
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: globalNamespace, Name: "all"}}
	w.Add(group, csv)
	localtest.Eventually(w.T, "what is installed elsewhere", func(ctx context.Context) error {
		var all packagesv1.PackageManifestList
		if err := c.List(ctx, &all, client.InNamespace(w.Namespace), client.HasLabels{"operon.dev/installed"}); err != nil {
			return err
		}
		if len(all.Items) != 2 {
			return fmt.Errorf("%d packages are installed", len(all.Items))
		}
		if is := all.Items[0].Status.Installed; len(is) != 1 || is[0].Namespace != globalNamespace || is[0].Name != csv.Name || is[0].Version != "0.0.1" || is[0].Phase == "" {
			return fmt.Errorf("installed is %+v", is)
		}
		return nil
	})
	w.Must(w.Delete(w.Context(), csv))
	w.listed(c, "", client.InNamespace(w.Namespace), client.HasLabels{"operon.dev/installed"})
	w.Must(w.Delete(w.Context(), group))
}

// icon checks what consoles show.
func (w *world) icon() {
	w.Helper()
	connection, err := kubernetes.NewForConfig(w.Config)
	w.Must(err)
	found := connection.RESTClient().Get().AbsPath("/apis/packages.operators.coreos.com/v1/namespaces/" + w.Namespace + "/packagemanifests/memcached/icon").Do(w.Context())
	var kind string
	raw, err := found.ContentType(&kind).Raw()
	w.Must(err)
	if string(raw) != "<svg/>" || kind != "image/svg+xml" {
		w.Errorf("the icon is %q of the type %s", raw, kind)
	}
}

// event waits for the next event of a watch.
func (w *world) event(from watch.Interface, kind watch.EventType, deprecated string) {
	w.Helper()
	event := localtest.Receive(w.T, string(kind), from.ResultChan())
	one, ok := event.Object.(*packagesv1.PackageManifest)
	if !ok || event.Type != kind {
		w.Fatalf("the event is %s: %+v, want %s", event.Type, event.Object, kind)
	}
	got := ""
	if one.Status.Deprecation != nil {
		got = one.Status.Deprecation.Message
	}
	if got != deprecated || one.Status.CatalogSource != "shop" {
		w.Errorf("the event %s has the deprecation %q and the catalog %s, want %q", kind, got, one.Status.CatalogSource, deprecated)
	}
}
