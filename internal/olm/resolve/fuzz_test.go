package resolve_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/olm/resolve"
)

// FuzzProperties resolves a bundle with arbitrary properties, next to one that is in order. The latter must always be installed.
func FuzzProperties(f *testing.F) {
	for _, one := range []string{
		`{"group": "example.com", "version": "v1", "kind": "Drawer"}`,
		`{"packageName": "drawer", "versionRange": ">=1.0.0 <2.0.0 || 3.x"}`,
		`{"label": "certified"}`,
		`{"failureMessage": "x", "cel": {"rule": "properties.exists(p, p.type == \"tier\" && semver_compare(p.value, \"1.0.0\") > 0)"}}`,
		`{"all": {"constraints": [{"package": {"name": "drawer", "versionRange": "1.0.0"}}, {"gvk": {"group": "g", "version": "v", "kind": "K"}}, {"not": {"constraints": [{"cel": {"rule": "true"}}]}}]}}`,
		`{"any": {"constraints": [{"any": {"constraints": [{"any": {"constraints": []}}]}}]}}`,
		`{"cel": {"rule": "properties[0].value.matches(\"(a+)+$\")"}}`,
		`{"cel": {"rule": "properties.map(p, properties.map(q, properties.map(r, p.type + q.type + r.type))).size() > 0"}}`,
		`[1e400]`, `"text"`, `{} {}`, ``,
	} {
		for _, kind := range []string{"olm.gvk", "olm.gvk.required", "olm.package.required", "olm.label.required", "olm.constraint", "olm.package", "tier"} {
			f.Add(kind, one)
		}
	}
	f.Fuzz(func(t *testing.T, kind, value string) {
		shop := types.NamespacedName{Namespace: "olm", Name: "shop"}
		arbitrary := resolve.Bundle{Name: "till.v1.0.0", Version: "1.0.0", Properties: []resolve.Property{{Type: kind, Value: []byte(value)}}}
		drawer := resolve.Bundle{Name: "drawer.v1.0.0", Version: "1.0.0", Properties: []resolve.Property{property("tier", "2.0.0")}}
		p := resolve.Problem{
			Subscriptions: []resolve.Subscription{{Name: "drawer", Package: "drawer", Catalog: shop}, {Name: "till", Package: "till", Catalog: shop}},
			Catalogs:      []resolve.Catalog{{NamespacedName: shop, Source: resolve.Packages{single("till", arbitrary), single("drawer", drawer)}}},
			Installed:     []resolve.Installed{{Bundle: resolve.Bundle{Name: "rail.v1.0.0", Properties: arbitrary.Properties}, Package: "rail"}},
		}
		result, err := resolve.Resolve(p)
		if err != nil {
			t.Fatal(err)
		}
		drawerOutcome, till := result.Subscriptions[0], result.Subscriptions[1]
		if drawerOutcome.Action != resolve.Install {
			t.Errorf("the bundle in order is not installed: %+v", drawerOutcome)
		}
		if till.Action == resolve.Blocked && !strings.Contains(till.Message, "till.v1.0.0") {
			t.Errorf("the message does not name the bundle: %s", till.Message)
		}
	})
}

func single(name string, b resolve.Bundle) resolve.Package {
	return resolve.Package{
		Name: name, DefaultChannel: "stable", Bundles: []resolve.Bundle{b},
		Channels: []resolve.Channel{{Name: "stable", Entries: []resolve.Entry{{Name: b.Name}}}},
	}
}
