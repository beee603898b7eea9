package property_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/olm/property"
)

func bundle(properties ...string) property.Bundle {
	b := property.Bundle{Name: "till.v1.0.0", Version: "1.0.0"}
	for _, one := range properties {
		kind, value, _ := strings.Cut(one, " ")
		b.Properties = append(b.Properties, property.Property{Type: kind, Value: []byte(value)})
	}
	return b
}

func read(t *testing.T, pkg string, b property.Bundle) *property.Content {
	t.Helper()
	content, err := property.Read(pkg, b, &property.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// deep nests a constraint n times.
func deep(n int) string {
	return strings.Repeat(`{"any":{"constraints":[`, n) + `{"cel":{"rule":"true"}}` + strings.Repeat(`]}}`, n)
}

func TestReadRejects(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`olm.gvk {"group":"a","version":"v1"}`:                          "olm.gvk: want group, version and kind",
		`olm.gvk "text"`:                                                "olm.gvk: the value is invalid",
		`olm.gvk {} {}`:                                                 "olm.gvk: the value is invalid",
		`olm.gvk.required {"kind":"A"}`:                                 "olm.gvk.required: want group, version and kind",
		`olm.package.required {"packageName":"a"}`:                      "olm.package.required: want packageName and versionRange",
		`olm.package.required {"packageName":"a","versionRange":"new"}`: `olm.package.required: "new" is not a range of versions`,
		`olm.label.required {}`:                                         "olm.label.required: want label",
		`olm.package {"packageName":"other","version":"1.0.0"}`:         `olm.package: packageName is "other", want till`,
		`olm.constraint {}`:                                             "exactly one of all, any, cel, gvk, not, package, got 0",
		`olm.constraint {"all":{"constraints":[]}}`:                     "all: want constraints, a list",
		`olm.constraint {"not":{"constraints":[{"gvk":{}}]}}`:           "not: constraints[0]: gvk: want group, version and kind",
		`olm.constraint {"cel":{}}`:                                     "cel.rule: want a rule",
		`olm.constraint {"cel":{"rule":"1"}}`:                           "cel.rule: 1: the rule returns int, want bool",
		`olm.constraint {"cel":{"rule":"unknown"}}`:                     "undeclared reference to 'unknown'",
		`olm.constraint ` + deep(40):                                    "nested more than 16 deep",
		`olm.constraint {"failureMessage":"` + long + `","any":{}}`:     "more than 64 KiB",
	} {
		_, err := property.Read("till", bundle(given), &property.Rules{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: the error is %v, want %s", given, err, want)
		}
	}
}

var long = strings.Repeat("x", 64<<10)

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, b := range []property.Bundle{
		{Name: "none"},
		{Name: "bad", Version: "one"},
		{Name: "two", Properties: bundle(`olm.package {"packageName":"till","version":"1.0.0"}`, `olm.package {"packageName":"till","version":"2.0.0"}`).Properties},
	} {
		if _, err := property.Read("till", b, &property.Rules{}); err == nil {
			t.Errorf("the version of bundle %s is accepted", b.Name)
		}
	}
	b := bundle(`olm.package {"packageName":"till","version":"2.1.0"}`)
	if got := read(t, "till", b).VersionText(); got != "1.0.0" {
		t.Errorf("the version is %s, want that of the bundle", got)
	}
	b.Version = ""
	if got := read(t, "till", b).VersionText(); got != "2.1.0" {
		t.Errorf("the version is %s, want that of the property", got)
	}
}

// TestLookups checks that the packages that may meet a dependency are found without looking at all of them.
func TestLookups(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`olm.gvk.required {"group":"g","version":"v","kind":"K"}`:                                                                                  "g/v, Kind=K",
		`olm.package.required {"packageName":"a","versionRange":">1.0.0"}`:                                                                         "package a",
		`olm.package.required {"packageName":"a","version":">1.0.0"}`:                                                                              "package a",
		`olm.label.required {"label":"a"}`:                                                                                                         "property olm.label",
		rule(`properties.exists(p, p.type == \"tier\" && p.value == 1)`):                                                                           "property tier",
		rule(`properties.exists(p, p.value == 1 && \"tier\" == p.type)`):                                                                           "property tier",
		rule(`size(properties) > 1 && properties.exists(p, p.type == \"tier\")`):                                                                   "property tier",
		rule(`!properties.exists(p, p.type == \"tier\")`):                                                                                          "everything",
		rule(`properties.exists(p, p.type == \"tier\") || true`):                                                                                   "everything",
		rule(`properties.exists(p, p.type == \"tier\" || p.value == 1)`):                                                                           "everything",
		rule(`properties.all(p, p.type == \"tier\")`):                                                                                              "everything",
		rule(`[{\"type\": \"tier\"}].exists(p, p.type == \"tier\")`):                                                                               "everything",
		rule(`properties.exists(p, properties.exists(q, p.type == \"tier\"))`):                                                                     "everything",
		`olm.constraint {"not":{"constraints":[{"package":{"packageName":"a","versionRange":"1.0.0"}}]}}`:                                          "everything",
		`olm.constraint {"any":{"constraints":[{"package":{"name":"a","versionRange":"1.0.0"}},{"gvk":{"group":"g","version":"v","kind":"K"}}]}}`:  "package a or g/v, Kind=K",
		`olm.constraint {"all":{"constraints":[{"cel":{"rule":"true"}},{"gvk":{"group":"g","version":"v","kind":"K"}},{"cel":{"rule":"false"}}]}}`: "g/v, Kind=K",
	} {
		content := read(t, "till", bundle(given))
		var got []string
		for _, one := range content.Requires[0].Lookups {
			got = append(got, describe(one))
		}
		if text := strings.Join(got, " or "); text != want {
			t.Errorf("%s is looked up in %s, want %s", given, text, want)
		}
	}
}

func rule(text string) string { return fmt.Sprintf(`olm.constraint {"cel":{"rule":"%s"}}`, text) }

func describe(l property.Lookup) string {
	switch {
	case l.Package != "":
		return "package " + l.Package
	case l.Property != "":
		return "property " + l.Property
	case l.Provides != schema.GroupVersionKind{}:
		return l.Provides.String()
	}
	return "everything"
}

func TestMeets(t *testing.T) {
	t.Parallel()
	other := read(t, "drawer", property.Bundle{Name: "drawer.v1.5.0", Version: "1.5.0", Properties: bundle(
		`olm.gvk {"group":"g","version":"v","kind":"K"}`, `olm.label {"label":"certified"}`, `tier "v2.1"`, `count 3`, `parts {"size":[1,2]}`,
	).Properties})
	for given, want := range map[string]bool{
		`olm.gvk.required {"group":"g","version":"v","kind":"K"}`:                                   true,
		`olm.gvk.required {"group":"g","version":"v2","kind":"K"}`:                                  false,
		`olm.package.required {"packageName":"drawer","versionRange":">=1.0.0 <2.0.0"}`:             true,
		`olm.package.required {"packageName":"drawer","versionRange":">=2.0.0 || 1.5.x"}`:           true,
		`olm.package.required {"packageName":"drawer","versionRange":"<1.5.0"}`:                     false,
		`olm.package.required {"packageName":"rail","versionRange":">=1.0.0"}`:                      false,
		`olm.label.required {"label":"certified"}`:                                                  true,
		`olm.label.required {"label":"good"}`:                                                       false,
		rule(`properties.exists(p, p.type == \"tier\" && semver_compare(p.value, \"2.0.9\") > 0)`):  true,
		rule(`properties.exists(p, p.type == \"tier\" && semver_compare(p.value, \"2.1.0\") == 0)`): true,
		rule(`properties.exists(p, semver_compare(p.value, \"2.2\") == -1)`):                        true,
		rule(`properties.exists(p, p.type == \"tier\" && semver_compare(p.value, \"x\") == 0)`):     false,
		rule(`properties.exists(p, p.type == \"count\" && p.value >= 3)`):                           true,
		rule(`properties.exists(p, p.type == \"count\" && p.value == 3)`):                           true,
		rule(`properties.exists(p, p.type == \"parts\" && p.value.size[1] == 2)`):                   true,
		rule(`properties.exists(p, p.type == \"parts\" && p.value.none == 2)`):                      false,
		rule(`properties.filter(p, p.type == \"tier\")[0].value == \"v2.1\"`):                       true,
	} {
		content := read(t, "till", bundle(given))
		if got, err := content.Requires[0].Meets(other); err != nil || got != want {
			t.Errorf("%s is met: %v (%v), want %v", given, got, err, want)
		}
	}
}

// TestRulesAreLimited checks the limits of the cost of a rule: for one bundle, and for all bundles together.
func TestRulesAreLimited(t *testing.T) {
	t.Parallel()
	loop := "properties.all(a, properties.all(b, a.type == b.type))"
	given := read(t, "till", bundle(rule(loop)))
	large, small := property.Bundle{Name: "large", Version: "1.0.0"}, property.Bundle{Name: "small", Version: "1.0.0"}
	for range 1000 {
		large.Properties = append(large.Properties, property.Property{Type: "x", Value: []byte("1")})
	}
	small.Properties = large.Properties[:50]
	if _, err := given.Requires[0].Meets(read(t, "drawer", large)); err == nil || !strings.Contains(err.Error(), "too expensive") || !strings.Contains(err.Error(), loop) {
		t.Errorf("the error for a large bundle is %v", err)
	}
	content := read(t, "drawer", small)
	for i := range 100_000 {
		met, err := given.Requires[0].Meets(content)
		if err != nil {
			if i < 100 {
				t.Errorf("the rule was evaluated only %d times", i)
			}
			return
		}
		if !met {
			t.Fatal("the rule is not met")
		}
	}
	t.Error("the cost of all evaluations has no limit")
}

func TestBounds(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		">=1.0.0 <2.0.0":    "1.0.0 2.0.0",
		"<2.0.0 >=1.0.0-rc": "1.0.0-rc 2.0.0",
		"1.x || >3.1":       "1.0.0 3.1.0",
		">=1.2.x":           "1.2.0 1.2.0",
		"!=1.0.0":           "1.0.0 1.0.0",
	} {
		low, high, ok := property.Versions{Text: given}.Bounds()
		if got := fmt.Sprintf("%s %s", low, high); !ok || got != want {
			t.Errorf("the bounds of %s are %s, want %s", given, got, want)
		}
	}
	if _, _, ok := (property.Versions{Text: "*"}).Bounds(); ok {
		t.Error("a range without versions has bounds")
	}
}

// FuzzRead reads arbitrary properties, and tests a bundle for what they ask for.
func FuzzRead(f *testing.F) {
	for _, kind := range []string{"olm.constraint", "olm.gvk.required", "olm.package.required", "olm.label.required", "olm.package", "olm.gvk"} {
		f.Add(kind, `{"group":"g","version":"v","kind":"K","label":"l","packageName":"till","versionRange":">1.0.0"}`)
		f.Add(kind, deep(3))
		f.Add(kind, `{"all":{"constraints":[{"not":{"constraints":[{"cel":{"rule":"properties.exists(p, p.type.matches('a+'))"}}]}},{"package":{"name":"a","versionRange":"1.x"}},{"any":{"constraints":[{"gvk":{}}]}}]}}`)
	}
	f.Fuzz(func(t *testing.T, kind, value string) {
		one := property.Property{Type: kind, Value: []byte(value)}
		content, err := property.Read("till", property.Bundle{Name: "till.v1.0.0", Version: "1.0.0", Properties: []property.Property{one}}, &property.Rules{})
		if err != nil && err.Error() == "" {
			t.Error("the error is empty")
		}
		for _, r := range content.Requires {
			if r.Key == "" || r.Text == "" || len(r.Lookups) == 0 {
				t.Errorf("the requirement is incomplete: %+v", r)
			}
			if _, err := r.Meets(content); err != nil && !strings.Contains(err.Error(), "too expensive") {
				t.Error(err)
			}
		}
	})
}
