package serve

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/registry"
	"github.com/operon-framework/operon/internal/testing/bundles"
)

// safePackage is a package in the layout with package.yaml, whose second version replaces the first one.
func safePackage() map[string]string {
	files := map[string]string{"safe.package.yaml": "packageName: safe\ndefaultChannel: stable\nchannels:\n- {name: stable, currentCSV: safe.v2.0.0}\n- {name: old, currentCSV: safe.v1.0.0}\n"}
	for version, replaces := range map[string]string{"1.0.0": "", "2.0.0": "replaces: safe.v1.0.0"} {
		files[version+"/csv.yaml"] = strings.NewReplacer("VERSION", version, "REPLACES", replaces).Replace(`apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: safe.vVERSION, annotations: {olm.skipRange: "<VERSION"}}
spec:
  displayName: Safe
  version: VERSION
  REPLACES
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions:
    owned: [{name: safes.shop.example.com, version: v1, kind: Safe}]
    required: [{name: keys.shop.example.com, version: v1, kind: Key}]
  install: {strategy: deployment, spec: {deployments: []}}
`)
		files[version+"/crd.yaml"] = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: safes.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Safe, plural: safes}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`
	}
	return files
}

// A package in the older layout, and its conversion, become catalogs with the same answers for each method.
func TestLayoutsServeTheSame(t *testing.T) {
	t.Parallel()
	older, converted := t.TempDir(), t.TempDir()
	bundles.Write(t, older, safePackage())
	if _, err := bundle.Convert(t.Context(), older, converted); err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, dir := range []string{older, converted} {
		made, err := catalog.Render([]string{dir}, "registry.example.com/{package}:{version}")
		if err != nil {
			t.Fatal(err)
		}
		var content bytes.Buffer
		if err := made.Write(&content, catalog.YAML); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, run(t, map[string]string{"safe.yaml": content.String()}).answers(t))
	}
	if answers[0] != answers[1] {
		t.Errorf("the older layout has\n%s\nthe other one\n%s", answers[0], answers[1])
	}
	for _, want := range []string{"ListPackages", "safe.v2.0.0", "registry.example.com/safe:2.0.0", `"skipRange":"<2.0.0"`, `"replaces":"safe.v1.0.0"`} {
		if !strings.Contains(answers[0], want) {
			t.Errorf("%s is missing in\n%s", want, answers[0])
		}
	}
}

// answers returns the answers of all methods about the package.
func (r *running) answers(t *testing.T) string {
	t.Helper()
	ctx, c := t.Context(), r.client
	var all strings.Builder
	add := func(method string, texts ...string) {
		fmt.Fprintf(&all, "%s\n  %s\n", method, strings.Join(texts, "\n  "))
	}
	one := func(method string, message proto.Message, err error) {
		if err != nil {
			t.Errorf("%s: %v", method, err)
			return
		}
		add(method, text(message))
	}
	packages, err := c.ListPackages(ctx, &registry.ListPackageRequest{})
	add("ListPackages", received(t, packages, err, func(m *registry.PackageName) string { return text(m) })...)
	listed, err := c.ListBundles(ctx, &registry.ListBundlesRequest{})
	add("ListBundles", received(t, listed, err, func(m *registry.Bundle) string { return text(m) })...)
	replacing, err := c.GetChannelEntriesThatReplace(ctx, &registry.GetAllReplacementsRequest{CsvName: "safe.v1.0.0"})
	add("GetChannelEntriesThatReplace", received(t, replacing, err, entry)...)
	providing, err := c.GetChannelEntriesThatProvide(ctx, &registry.GetAllProvidersRequest{Group: "shop.example.com", Version: "v1", Kind: "Safe"})
	add("GetChannelEntriesThatProvide", received(t, providing, err, entry)...)
	latest, err := c.GetLatestChannelEntriesThatProvide(ctx, &registry.GetLatestProvidersRequest{Group: "shop.example.com", Version: "v1", Kind: "Safe"})
	add("GetLatestChannelEntriesThatProvide", received(t, latest, err, entry)...)
	p, err := c.GetPackage(ctx, &registry.GetPackageRequest{Name: "safe"})
	one("GetPackage", p, err)
	b, err := c.GetBundle(ctx, &registry.GetBundleRequest{PkgName: "safe", ChannelName: "stable", CsvName: "safe.v2.0.0"})
	one("GetBundle", b, err)
	b, err = c.GetBundleForChannel(ctx, &registry.GetBundleInChannelRequest{PkgName: "safe", ChannelName: "old"})
	one("GetBundleForChannel", b, err)
	b, err = c.GetBundleThatReplaces(ctx, &registry.GetReplacementRequest{PkgName: "safe", ChannelName: "stable", CsvName: "safe.v1.0.0"})
	one("GetBundleThatReplaces", b, err)
	b, err = c.GetDefaultBundleThatProvides(ctx, &registry.GetDefaultProviderRequest{Group: "shop.example.com", Version: "v1", Kind: "Safe"})
	one("GetDefaultBundleThatProvides", b, err)
	return all.String()
}

// text returns a message as JSON without spaces, whose number is random.
func text(message proto.Message) string {
	return strings.Join(strings.Fields(protojson.Format(message)), "")
}
