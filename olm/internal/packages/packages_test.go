package packages_test

import (
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/catalog"

	packagesv1 "github.com/operon-framework/operon/internal/olm/api/packages/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/packages"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected files")

const manifest = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: tool.v1.10.0, labels: {operatorframework.io/arch.arm64: supported}, annotations: {capabilities: Basic Install}}
spec:
  displayName: Tool of the object
  provider: {name: Example, url: https://example.com}
  relatedImages: [{name: a, image: other}]
  customresourcedefinitions: {owned: [{name: tools.example.com, displayName: Tool}]}
`

func pkg() *catalog.Package {
	bundle := func(version string, properties ...catalog.Property) *catalog.Bundle {
		own := catalog.Property{Type: "olm.package", Value: fmt.Appendf(nil, `{"packageName":"tool","version":%q}`, version)}
		return &catalog.Bundle{Package: "tool", Name: "tool.v" + version, Properties: append(properties, own), RelatedImages: []catalog.Image{{Name: "a", Image: "image"}}}
	}
	return &catalog.Package{
		Name: "tool", DefaultChannel: "stable", Description: "of the package", Icon: &catalog.Icon{Data: []byte("<svg/>"), MediaType: "image/svg+xml"},
		Channels: []*catalog.Channel{
			{Name: "stable", Entries: []catalog.Entry{{Name: "tool.v1.9.0"}, {Name: "tool.v1.10.0", Replaces: "tool.v1.9.0"}}},
			{Name: "beta", Entries: []catalog.Entry{{Name: "tool.v2.0.0"}}},
		},
		Bundles: []*catalog.Bundle{
			bundle("1.9.0"),
			bundle("1.10.0", catalog.Property{Type: "olm.bundle.object", Value: fmt.Appendf(nil, `{"data":%q}`, base64.StdEncoding.EncodeToString([]byte(manifest)))}),
			bundle("2.0.0", catalog.Property{Type: "olm.csv.metadata", Value: []byte(`{"displayName":"Tool","description":"own","labels":{"operatorframework.io/os.windows":"supported"},"nativeAPIs":[{"group":"","version":"v1","kind":"Pod"}],"crdDescriptions":{"owned":[{"name":"tools.example.com","displayName":"Tool"}]}}`)}),
		},
		Deprecations: []catalog.Deprecation{
			{Reference: catalog.Reference{Schema: "olm.package"}, Message: "package"},
			{Reference: catalog.Reference{Schema: "olm.channel", Name: "beta"}, Message: "channel"},
			{Reference: catalog.Reference{Schema: "olm.bundle", Name: "tool.v1.9.0"}, Message: "bundle"},
		},
	}
}

func source() *v1alpha1.CatalogSource {
	return &v1alpha1.CatalogSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: "olm", Name: "shop", UID: "1", Labels: map[string]string{"team": "a"}},
		Spec:       v1alpha1.CatalogSourceSpec{DisplayName: "Shop", Publisher: "Somebody"},
	}
}

// A package is described with all its channels, and with what its catalog is called.
func TestCompose(t *testing.T) {
	t.Parallel()
	made, err := packages.Compose(pkg())
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(made.In(source(), "default", []packagesv1.InstalledVersion{{Namespace: "operators", Name: "tool.v1", Version: "1.0.0", Phase: "Succeeded"}}))
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "tool.yaml")
	if *rewrite {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The resource version changes with the package and with the catalog, and only then.
func TestResourceVersion(t *testing.T) {
	t.Parallel()
	version := func(p *catalog.Package, s *v1alpha1.CatalogSource, installed ...packagesv1.InstalledVersion) string {
		made, err := packages.Compose(p)
		if err != nil {
			t.Fatal(err)
		}
		return made.In(s, "", installed).ResourceVersion
	}
	first := version(pkg(), source())
	if again := version(pkg(), source()); again != first {
		t.Errorf("it is %s and %s", first, again)
	}
	changed, renamed := pkg(), source()
	changed.Deprecations[0].Message, renamed.Spec.DisplayName = "other", "Other"
	if version(changed, source()) == first || version(pkg(), renamed) == first || version(pkg(), source(), packagesv1.InstalledVersion{Name: "tool.v1"}) == first {
		t.Error("a change has the same version")
	}
}

// A description that cannot be read is an error that names the version and the property.
func TestUnreadableDescription(t *testing.T) {
	t.Parallel()
	p := pkg()
	p.Bundles[2].Properties[0].Value = []byte(`{"displayName":1}`)
	if _, err := packages.Compose(p); err == nil || !strings.Contains(err.Error(), "tool.v2.0.0: properties[0]: ") {
		t.Errorf("the error is %v", err)
	}
}
