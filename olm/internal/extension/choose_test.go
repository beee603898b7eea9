package extension

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"

	v1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	"github.com/operon-framework/operon/internal/olm/resolve"
)

// till returns a package with bundles of some versions. 1.0.0 and 1.1.0 are in the channel stable, and the others in fast, too: each version
// replaces the one before, 2.0.0 skips the versions 1.x, and 1.1.0 skips 0.9.0 in fast.
func till(versions ...string) *resolve.Package {
	made := &resolve.Package{Name: "till", DefaultChannel: "stable"}
	stable, fast := resolve.Channel{Name: "stable"}, resolve.Channel{Name: "fast"}
	before := ""
	for _, number := range versions {
		entry := resolve.Entry{Name: "till.v" + number, Replaces: before}
		if number == "2.0.0" {
			entry.SkipRange = ">=1.0.0 <2.0.0"
		}
		if number <= "1.1.0" {
			stable.Entries = append(stable.Entries, entry)
		}
		if number == "1.1.0" {
			entry.Skips = []string{"till.v0.9.0"}
		}
		fast.Entries = append(fast.Entries, entry)
		before = entry.Name
		made.Bundles = append(made.Bundles, resolve.Bundle{Name: entry.Name, Properties: []resolve.Property{
			{Type: "olm.package", Value: json.RawMessage(fmt.Sprintf(`{"packageName":"till","version":%q}`, number))},
		}})
	}
	made.Channels = []resolve.Channel{stable, fast}
	return made
}

// The version that is chosen is the highest one that the range, the channels and the upgrade graph allow.
func TestChoose(t *testing.T) {
	t.Parallel()
	all := []string{"1.0.0", "1.1.0", "1.2.0", "2.0.0", "2.1.0", "3.0.0-rc.1"}
	for name, test := range map[string]struct {
		filter     v1.CatalogFilter
		installed  string
		deprecated string
		want       string
	}{
		"the highest one":                    {want: "till.v3.0.0-rc.1"},
		"a range has no prereleases":         {filter: v1.CatalogFilter{Version: ">=1.0.0"}, want: "till.v2.1.0"},
		"a range":                            {filter: v1.CatalogFilter{Version: "1.x"}, want: "till.v1.2.0"},
		"one version":                        {filter: v1.CatalogFilter{Version: "1.0.0"}, want: "till.v1.0.0"},
		"a channel":                          {filter: v1.CatalogFilter{Channels: []string{"stable"}}, want: "till.v1.1.0"},
		"a successor by replaces":            {installed: "2.0.0", want: "till.v2.1.0"},
		"a successor by skipRange":           {installed: "1.0.0", want: "till.v2.0.0"},
		"a successor in a channel":           {filter: v1.CatalogFilter{Channels: []string{"fast"}}, installed: "1.0.0", want: "till.v2.0.0"},
		"a successor by skips":               {installed: "0.9.0", want: "till.v1.1.0"},
		"a successor in another channel":     {filter: v1.CatalogFilter{Channels: []string{"stable"}}, installed: "0.9.0", want: `error upgrading from currently installed version "0.9.0": no bundles found for package "till" in channels [stable]`},
		"a successor in a range":             {filter: v1.CatalogFilter{Version: "1.x"}, installed: "1.0.0", want: "till.v1.1.0"},
		"no successor":                       {filter: v1.CatalogFilter{Version: "2.1.0"}, installed: "1.0.0", want: `error upgrading from currently installed version "1.0.0": no bundles found for package "till" matching version "2.1.0"`},
		"any version that you certify":       {filter: v1.CatalogFilter{Version: "2.1.0", UpgradeConstraintPolicy: v1.SelfCertified}, installed: "1.0.0", want: "till.v2.1.0"},
		"an older version that you certify":  {filter: v1.CatalogFilter{Version: "1.0.0", UpgradeConstraintPolicy: v1.SelfCertified}, installed: "2.0.0", want: "till.v1.0.0"},
		"an older version":                   {filter: v1.CatalogFilter{Version: "1.0.0"}, installed: "2.0.0", want: `error upgrading from currently installed version "2.0.0": no bundles found`},
		"another channel":                    {filter: v1.CatalogFilter{Channels: []string{"slow"}}, want: `no bundles found for package "till" in channels [slow]`},
		"one that is not deprecated":         {filter: v1.CatalogFilter{Version: "1.x"}, deprecated: "till.v1.2.0", want: "till.v1.1.0"},
		"one that is deprecated":             {filter: v1.CatalogFilter{Version: "1.2.0"}, deprecated: "till.v1.2.0", want: "till.v1.2.0"},
		"a range that is none":               {filter: v1.CatalogFilter{Version: "new"}, want: `spec.source.catalog.version: the range "new" is invalid`},
		"the installed one, if none follows": {filter: v1.CatalogFilter{Version: "<2"}, installed: "1.2.0", want: "till.v1.2.0"},
	} {
		test.filter.PackageName = "till"
		of := till(all...)
		if test.deprecated != "" {
			of.Deprecations = []resolve.Deprecation{{Schema: schemaBundle, Name: test.deprecated, Message: "old"}}
		}
		got, err := choose(&test.filter, installed(test.installed), []offer{{catalog: "shop", of: of}})
		if failed := fmt.Sprint(err); got.name != test.want && !strings.HasPrefix(failed, test.want) {
			t.Errorf("%s: got %q, error %v, want %q", name, got.name, err, test.want)
		}
	}
}

func installed(number string) *version {
	if number == "" {
		return nil
	}
	return &version{"till.v" + number, semver.MustParse(number)}
}

// A range that is none is reported although no catalog was read.
func TestMistakeInTheRange(t *testing.T) {
	t.Parallel()
	of := &v1.ClusterExtension{Spec: v1.ClusterExtensionSpec{Source: v1.Source{Catalog: &v1.CatalogFilter{PackageName: "till", Version: "abc"}}}}
	_, err := (&Composer{}).choose(t.Context(), of, nil, &pass{})
	var why refusal
	if !errors.As(err, &why) || why.reason != v1.ReasonBlocked || !strings.HasPrefix(why.message, `spec.source.catalog.version: the range "abc" is invalid`) {
		t.Errorf("the error is %v", err)
	}
}

// Versions that differ only in their build metadata are releases of one version.
func TestChooseOfReleases(t *testing.T) {
	t.Parallel()
	for want, numbers := range map[string][]string{
		"till.v1.0.0+10": {"1.0.0+9", "1.0.0+10", "1.0.0"}, "till.v1.0.1": {"1.0.1", "1.0.0+2"}, "till.v1.0.0+2": {"1.0.0+2", "1.0.0+02"},
	} {
		got, err := choose(&v1.CatalogFilter{PackageName: "till"}, nil, []offer{{catalog: "shop", of: till(numbers...)}})
		if err != nil || got.name != want {
			t.Errorf("of %v, got %q, error %v, want %q", numbers, got.name, err, want)
		}
	}
}

// Of several catalogs, the one with the highest priority is chosen, unless its version is deprecated. Equal ones are an error.
func TestChooseOfSeveralCatalogs(t *testing.T) {
	t.Parallel()
	old := till("1.0.0")
	old.Deprecations = []resolve.Deprecation{{Schema: schemaBundle, Name: "till.v1.0.0", Message: "old"}}
	filter := &v1.CatalogFilter{PackageName: "till"}
	for want, offers := range map[string][]offer{
		"till.v1.0.0": {{"a", -1, till("1.1.0")}, {"b", 0, till("1.0.0")}},
		"till.v1.1.0": {{"a", 0, till("1.1.0")}, {"b", 5, old}},
		`found bundles for package "till" in multiple catalogs with the same priority [a c]: change spec.priority`: {
			{"c", 1, till("1.1.0")}, {"b", 0, till("1.0.0")}, {"a", 1, till("1.0.0")},
		},
	} {
		got, err := choose(filter, nil, offers)
		if failed := fmt.Sprint(err); got.name != want && !strings.HasPrefix(failed, want) {
			t.Errorf("got %q, error %v, want %q", got.name, err, want)
		}
	}
}
