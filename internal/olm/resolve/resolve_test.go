package resolve_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/olm/resolve"
	"github.com/operon-framework/operon/internal/testing/scenario"
)

func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, 60, play)
}

// play resolves a problem. The order of the input must not matter.
func play(t *testing.T, given string) string {
	t.Helper()
	p := readStory(t, given)
	result, err := resolve.Resolve(p)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	again, err := resolve.Resolve(reversed(p))
	if err != nil {
		t.Fatal(err)
	}
	got := show(result)
	if other := show(again); other != got {
		t.Errorf("with the lists reversed, the result is\n%s\nwant\n%s", other, got)
	}
	return got
}

// versions is a package with many versions, of which each replaces the one before.
func versions(name string, count int) resolve.Package {
	made := resolve.Package{Name: name, DefaultChannel: "stable", Channels: []resolve.Channel{{Name: "stable"}}}
	for v := range count {
		b := resolve.Bundle{Name: fmt.Sprintf("%s.v1.%d.0", name, v), Version: fmt.Sprintf("1.%d.0", v)}
		e := resolve.Entry{Name: b.Name}
		if v > 0 {
			e.Replaces = fmt.Sprintf("%s.v1.%d.0", name, v-1)
		}
		made.Bundles, made.Channels[0].Entries = append(made.Bundles, b), append(made.Channels[0].Entries, e)
	}
	return made
}

func needing(name, within string) resolve.Package {
	return single(name, resolve.Bundle{Name: name + ".v1.0.0", Version: "1.0.0", Properties: []resolve.Property{
		property("olm.package.required", map[string]string{"packageName": "drawer", "versionRange": within}),
	}})
}

// TestManyVersions checks that two of many versions are never chosen together, wherever they are in the channel.
func TestManyVersions(t *testing.T) {
	t.Parallel()
	shop := types.NamespacedName{Namespace: "olm", Name: "shop"}
	for _, other := range []int{1, 15, 16, 17, 33, 69} {
		p := resolve.Problem{
			Subscriptions: []resolve.Subscription{
				{Name: "drawer", Package: "drawer", Catalog: shop}, {Name: "scale", Package: "scale", Catalog: shop}, {Name: "till", Package: "till", Catalog: shop},
			},
			Catalogs: []resolve.Catalog{{NamespacedName: shop, Source: resolve.Packages{
				versions("drawer", 70), needing("scale", "1.34.0 || 1.0.0"), needing("till", fmt.Sprintf("1.%d.0", other)),
			}}},
		}
		result, err := resolve.Resolve(p)
		if err != nil {
			t.Fatal(err)
		}
		if result.Subscriptions[0].Bundle.Name != "drawer.v1.34.0" || result.Subscriptions[2].Reason != resolve.Unsatisfiable {
			t.Errorf("with version 1.%d.0, the result is\n%s", other, show(result))
		}
	}
}

// TestDuplicatesInCatalogs checks that a bundle and a channel that a catalog has twice are not used, whichever comes first.
func TestDuplicatesInCatalogs(t *testing.T) {
	t.Parallel()
	shop := types.NamespacedName{Namespace: "olm", Name: "shop"}
	twice := versions("till", 2)
	twice.Bundles = append(twice.Bundles, resolve.Bundle{Name: "till.v1.1.0", Version: "1.1.0"})
	channels := versions("scale", 2)
	channels.Channels = append(channels.Channels, resolve.Channel{Name: "stable", Entries: channels.Channels[0].Entries[:1]})
	result, err := resolve.Resolve(resolve.Problem{
		Subscriptions: []resolve.Subscription{{Name: "scale", Package: "scale", Catalog: shop}, {Name: "till", Package: "till", Catalog: shop}},
		Catalogs:      []resolve.Catalog{{NamespacedName: shop, Source: resolve.Packages{twice, channels}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `scale: Blocked InvalidChannel
  package scale: channel stable is listed twice
till: Install BelowChannelHead till.v1.0.0 from olm/shop, channel stable
  till.v1.0.0 is below the head till.v1.1.0 of channel stable
  held: catalog olm/shop has two bundles till.v1.1.0
`
	if got := show(result); got != want {
		t.Errorf("the result is\n%s\nwant\n%s", got, want)
	}
}

// TestSameNames checks that a problem that cannot exist is an error.
func TestSameNames(t *testing.T) {
	t.Parallel()
	shop := resolve.Catalog{NamespacedName: types.NamespacedName{Namespace: "olm", Name: "shop"}, Source: resolve.Packages{}}
	till := resolve.Installed{Bundle: resolve.Bundle{Name: "till.v1.0.0"}}
	_, err := resolve.Resolve(resolve.Problem{Catalogs: []resolve.Catalog{shop, shop}, Installed: []resolve.Installed{till, till}})
	want := "there are two installed bundles till.v1.0.0\nthere are two catalogs olm/shop"
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// TestAdditions checks the Subscription that is created for a dependency.
func TestAdditions(t *testing.T) {
	t.Parallel()
	shop := types.NamespacedName{Namespace: "olm", Name: "shop"}
	result, err := resolve.Resolve(resolve.Problem{
		Subscriptions: []resolve.Subscription{{Name: "till", Package: "till", Catalog: shop}},
		Catalogs:      []resolve.Catalog{{NamespacedName: shop, Source: resolve.Packages{needing("till", "<1.1.0"), versions("drawer", 3)}}},
	})
	if err != nil || len(result.Additions) != 1 {
		t.Fatalf("the result is %s, %v", show(result), err)
	}
	want := resolve.Subscription{Name: "drawer-stable-shop-olm", Package: "drawer", Channel: "stable", Catalog: shop, StartingCSV: "drawer.v1.0.0"}
	if got := result.Additions[0]; !reflect.DeepEqual(got.Subscription, want) || !slices.Equal(got.NeededBy, []string{"till.v1.0.0"}) || got.Bundle.Version != "1.0.0" {
		t.Errorf("the addition is %+v, want the Subscription %+v", got, want)
	}
}
