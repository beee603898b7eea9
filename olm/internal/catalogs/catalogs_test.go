package catalogs_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/resolve"
	"github.com/operon-framework/operon/internal/ship/catalog/serve"
	"github.com/operon-framework/operon/internal/ship/catalog/store"
	"github.com/operon-framework/operon/internal/testing/testaid"

	"github.com/operon-framework/operon/internal/ship/image/pulled"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

const csv = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: %s}
spec:
  version: 1.0.0
  install: {strategy: deployment, spec: {deployments: []}}
  installModes: [{type: AllNamespaces, supported: true}]
`

const shop = `
schema: olm.package
name: %[1]s
defaultChannel: stable
---
schema: olm.channel
package: %[1]s
name: stable
entries: [{name: %[1]s.v1.0.0}]
---
schema: olm.bundle
package: %[1]s
name: %[1]s.v1.0.0
image: %[2]q
properties:
- {type: olm.package, value: {packageName: %[1]s, version: 1.0.0}}
- {type: olm.gvk, value: {group: example.com, version: v1, kind: %[1]s}}
- {type: olm.csv.metadata, value: {description: long}}
%[3]s
---
`

// content returns the property with an object of a bundle.
func content(text string) string {
	return "- {type: olm.bundle.object, value: {data: " + base64.StdEncoding.EncodeToString([]byte(text)) + "}}"
}

// A resolution finds the packages of a catalog without their contents, and a package with a mistake is left out with the reason.
func TestLoad(t *testing.T) {
	t.Parallel()
	r := registrytest.New(t)
	image := r.Push("shop:1", map[string]string{"configs/catalog.yaml": fmt.Sprintf(shop, "till", "till:1", "") + fmt.Sprintf(shop, "ledger", "ledger:1", "") +
		"schema: olm.package\nname: broken\ndefaultChannel: none\n"})
	all := &catalogs.Catalogs{Images: pulled.New(t.TempDir(), pulled.DefaultLimits)}
	loaded := must(all.Load(t.Context(), object("a", "shop"), catalogs.Place{Image: image}))(t)
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "ledger"}
	names := must(loaded.Source.Find(resolve.Query{}))(t)
	providers := must(loaded.Source.Find(resolve.Query{Provides: kind}))(t)
	having := must(loaded.Source.Find(resolve.Query{Property: "olm.package"}))(t)
	till := must(loaded.Source.Package("till"))(t)
	if got, want := fmt.Sprint(names, providers, having, till.Channels, len(till.Bundles[0].Properties)), "[ledger till] [ledger] [ledger till] [{stable [{till.v1.0.0  [] }]}] 2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := loaded.Source.Package("broken"); err == nil || !strings.Contains(err.Error(), "the package broken cannot be used") || len(loaded.Broken) != 1 {
		t.Errorf("the broken package: error %v, broken %v", err, loaded.Broken)
	}
	if loaded.Packages() != 3 || loaded.Image("till.v1.0.0") != "till:1" || loaded.PackageOf("ledger.v1.0.0") != "ledger" || loaded.Image("none") != "" {
		t.Errorf("the catalog has %d packages, and till.v1.0.0 the image %q", loaded.Packages(), loaded.Image("till.v1.0.0"))
	}
	if other := must(all.Load(t.Context(), object("b", "shop"), catalogs.Place{Image: image}))(t); other.Source != loaded.Source {
		t.Error("two CatalogSources with the same image do not share its catalog")
	}
	all.Forget(named("a", "shop"))
	if all.Get(named("a", "shop")) != nil || all.Get(named("b", "shop")) == nil {
		t.Error("not exactly one of two catalogs is forgotten")
	}
}

// A bundle is the one that the catalog names, and stays the one that was approved.
func TestBundle(t *testing.T) {
	t.Parallel()
	r, of := registrytest.New(t), named("a", "shop")
	all := &catalogs.Catalogs{Images: pulled.New(t.TempDir(), pulled.DefaultLimits)}
	load := func(text string) {
		t.Helper()
		must(all.Load(t.Context(), object("a", "shop"), catalogs.Place{Image: r.Push("shop:1", map[string]string{"configs/catalog.yaml": text})}))(t)
	}
	inside := fmt.Sprintf(csv, "till.v1.0.0")
	load(fmt.Sprintf(shop, "till", "", content(`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"till.v1.0.0","annotations":{"a":"`+"\x7f\u2028\ufeff"+`"}}}`)))
	if got := must(all.Bundle(t.Context(), of, "till.v1.0.0", catalogs.Pin{}))(t).Object.GetAnnotations()["a"]; got != "\x7f\u2028\ufeff" {
		t.Errorf("the annotation is %q", got)
	}
	load(fmt.Sprintf(shop, "till", "", content(inside)) + fmt.Sprintf(shop, "thief", "", content(inside)))
	first := must(all.Bundle(t.Context(), of, "till.v1.0.0", catalogs.Pin{}))(t)
	if first.Image != "" || first.Digest == "" || first.Name() != "till.v1.0.0" || strings.Contains(first.Properties, "description") {
		t.Errorf("the bundle in the catalog is %+v", first)
	}
	again := must(all.Bundle(t.Context(), of, "till.v1.0.0", first.Pin))(t)
	if again.Pin != first.Pin {
		t.Errorf("the bundle is %+v, and was %+v", again.Pin, first.Pin)
	}
	wantError(t, all, "thief.v1.0.0", catalogs.Pin{}, "the catalog a/shop has the bundle till.v1.0.0 under this name")
	wantError(t, all, "none", catalogs.Pin{}, catalogs.ErrUnknown.Error())

	load(fmt.Sprintf(shop, "till", "", content(inside+"  displayName: changed\n")))
	wantError(t, all, "till.v1.0.0", first.Pin, catalogs.ErrChanged.Error())

	files := func(text string) map[string]string { return map[string]string{"manifests/csv.yaml": text} }
	image := r.Push("till:1", files(inside))
	load(fmt.Sprintf(shop, "till", image, ""))
	wantError(t, all, "till.v1.0.0", first.Pin, catalogs.ErrChanged.Error())
	first = must(all.Bundle(t.Context(), of, "till.v1.0.0", catalogs.Pin{}))(t)
	r.Push("till:1", files(inside+"  displayName: changed\n"))
	if kept := must(all.Bundle(t.Context(), of, "till.v1.0.0", first.Pin))(t); kept.Pin != first.Pin || first.Image != image {
		t.Errorf("the bundle is %+v, and was %+v", kept.Pin, first.Pin)
	}
	if other := must(all.Bundle(t.Context(), of, "till.v1.0.0", catalogs.Pin{}))(t); other.Digest == first.Digest {
		t.Error("without a pin, a tag that has moved has its old content")
	}
}

// Objects in a catalog with the same bytes in a row are not the same objects, and a digest of an older manager, which does not see that, is not accepted.
func TestPinOfObjects(t *testing.T) {
	t.Parallel()
	r, of := registrytest.New(t), named("a", "shop")
	all := &catalogs.Catalogs{Images: pulled.New(t.TempDir(), pulled.DefaultLimits)}
	load := func(objects ...string) {
		t.Helper()
		var properties []string
		for _, one := range objects {
			properties = append(properties, content(one))
		}
		text := fmt.Sprintf(shop, "till", "", strings.Join(properties, "\n"))
		must(all.Load(t.Context(), object("a", "shop"), catalogs.Place{Image: r.Push("shop:1", map[string]string{"configs/catalog.yaml": text})}))(t)
	}
	csv, script := fmt.Sprintf(csv, "till.v1.0.0"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: till}\ndata: {a: b}\n"
	load(csv, "#\n"+script)
	approved := must(all.Bundle(t.Context(), of, "till.v1.0.0", catalogs.Pin{}))(t).Pin
	must(all.Bundle(t.Context(), of, "till.v1.0.0", approved))(t)
	load(csv+"#\n", script)
	wantError(t, all, "till.v1.0.0", approved, catalogs.ErrChanged.Error())
	old := sha256.Sum256([]byte(csv + "#\n" + script))
	digest := "sha256:" + hex.EncodeToString(old[:])
	wantError(t, all, "till.v1.0.0", catalogs.Pin{Digest: digest}, "its digest "+digest+" is from an older version of the manager")
}

// The content of a server is kept, so that bundles are read from it also when the server is gone.
func TestServed(t *testing.T) {
	t.Parallel()
	of, dir := named("a", "shop"), t.TempDir()
	testaid.Write(t, filepath.Join(dir, "catalog.yaml"), fmt.Sprintf(shop, "till", "", content(fmt.Sprintf(csv, "till.v1.0.0"))))
	server := must(serve.Listen(t.Context(), serve.Options{Cache: store.Options{Sources: []string{dir}, Dir: t.TempDir()}, GRPC: "127.0.0.1:0", Report: func(string) {}}))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	all := &catalogs.Catalogs{Images: pulled.New(t.TempDir(), pulled.DefaultLimits)}
	at := catalogs.Place{Address: server.GRPC()}
	loaded := must(all.Load(t.Context(), object("a", "shop"), at))(t)
	if again := must(all.Load(t.Context(), object("a", "shop"), at))(t); again != loaded {
		t.Error("a catalog that has not changed is loaded again")
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if _, err := all.Load(t.Context(), object("a", "shop"), at); err == nil || all.Get(of) != loaded {
		t.Errorf("without the server, the error is %v, and the catalog %v", err, all.Get(of))
	}
	first := must(all.Bundle(t.Context(), of, "till.v1.0.0", catalogs.Pin{}))(t)
	if again := must(all.Bundle(t.Context(), of, "till.v1.0.0", first.Pin))(t); again.Name() != "till.v1.0.0" || again.Digest == "" || again.Pin != first.Pin {
		t.Errorf("the bundle is %+v, and was %+v", again, first)
	}
}

func wantError(t *testing.T, all *catalogs.Catalogs, name string, pin catalogs.Pin, want string) {
	t.Helper()
	if _, err := all.Bundle(t.Context(), named("a", "shop"), name, pin); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: the error is %v, want %s", name, err, want)
	} else if want == catalogs.ErrChanged.Error() && !errors.Is(err, catalogs.ErrChanged) {
		t.Errorf("%s: the error %v is not ErrChanged", name, err)
	}
}

func named(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// object returns the object of a catalog.
func object(namespace, name string) *v1alpha1.CatalogSource {
	return &v1alpha1.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "a"}}
}

// must returns a value, or fails the test.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
