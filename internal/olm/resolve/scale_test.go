package resolve_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/olm/resolve"
)

// Sizes of the synthetic catalog: 10,000 bundles.
const (
	manyPackages = 500
	manyVersions = 20
)

// indexed is a catalog that makes its packages when they are asked for, as a cache on disk reads them, and counts them.
type indexed struct{ read map[string]bool }

func (s *indexed) Package(name string) (*resolve.Package, error) {
	i, err := strconv.Atoi(strings.TrimPrefix(name, "p"))
	if err != nil || i >= manyPackages {
		return nil, nil
	}
	s.read[name] = true
	made := &resolve.Package{Name: name, DefaultChannel: "stable", Channels: []resolve.Channel{{Name: "stable"}, {Name: "fast"}}}
	for v := range manyVersions {
		e := resolve.Entry{Name: syntheticName(i, v), SkipRange: fmt.Sprintf(">=1.0.0 <1.%d.0", v)}
		if v > 0 {
			e.Replaces = syntheticName(i, v-1)
		}
		made.Channels[v%5/4].Entries = append(made.Channels[v%5/4].Entries, e)
		made.Bundles = append(made.Bundles, synthetic(i, v))
	}
	made.Channels[0].Entries = bridged(made.Channels[0].Entries)
	made.Channels[1].Entries = bridged(made.Channels[1].Entries)
	return made, nil
}

// bridged makes each entry replace the one before.
func bridged(entries []resolve.Entry) []resolve.Entry {
	for i := 1; i < len(entries); i++ {
		entries[i].Replaces = entries[i-1].Name
	}
	return entries
}

// Find answers queries for kinds with the two packages that provide them.
func (s *indexed) Find(q resolve.Query) ([]string, error) {
	i, err := strconv.Atoi(strings.TrimPrefix(q.Provides.Kind, "K"))
	if err != nil {
		return nil, fmt.Errorf("this catalog has no index for %v", q)
	}
	return []string{syntheticPackage(i), syntheticPackage(i + manyPackages/2)}, nil
}

func syntheticPackage(i int) string { return "p" + strconv.Itoa(i%manyPackages) }

func syntheticName(i, v int) string { return fmt.Sprintf("%s.v1.%d.0", syntheticPackage(i), v) }

// synthetic is a bundle: packages share a kind with the one half around, and three in four depend on a kind and on versions of a package.
func synthetic(i, v int) resolve.Bundle {
	b := resolve.Bundle{Name: syntheticName(i, v), Properties: []resolve.Property{
		property("olm.package", map[string]string{"packageName": syntheticPackage(i), "version": fmt.Sprintf("1.%d.0", v)}),
		property("olm.gvk", kindOf("K"+strconv.Itoa(i%(manyPackages/2)))),
	}}
	if i%4 == 3 {
		return b
	}
	within := fmt.Sprintf(">=1.%d.0 <1.%d.0", max(0, v-6), v+1)
	return resolve.Bundle{Name: b.Name, Properties: append(b.Properties,
		property("olm.gvk.required", kindOf("K"+strconv.Itoa((i+61)%(manyPackages/2)))),
		property("olm.package.required", map[string]string{"packageName": syntheticPackage(i + 1), "versionRange": within}),
	)}
}

// manySubscriptions are 50 Subscriptions, every second one with an installed bundle.
func manySubscriptions() (resolve.Problem, *indexed) {
	source := &indexed{read: map[string]bool{}}
	shop := types.NamespacedName{Namespace: "olm", Name: "shop"}
	p := resolve.Problem{Namespace: "tills", Catalogs: []resolve.Catalog{{NamespacedName: shop, Source: source}}}
	for n := range 50 {
		i := n * 5
		sub := resolve.Subscription{Name: fmt.Sprintf("s%02d", n), Package: syntheticPackage(i), Channel: "stable", Catalog: shop}
		if n%2 == 1 {
			sub.InstalledCSV = syntheticName(i, 5)
			p.Installed = append(p.Installed, resolve.Installed{Bundle: synthetic(i, 5), Package: sub.Package, Subscription: sub.Name})
		}
		p.Subscriptions = append(p.Subscriptions, sub)
	}
	return p, source
}

// TestOnlyNeededPackagesAreRead checks that a resolution reads a part of a large catalog.
func TestOnlyNeededPackagesAreRead(t *testing.T) {
	t.Parallel()
	p, source := manySubscriptions()
	p.Subscriptions, p.Installed = p.Subscriptions[:3], p.Installed[:1]
	result, err := resolve.Resolve(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Additions) < 3 {
		t.Errorf("only %d bundles were added", len(result.Additions))
	}
	if len(source.read) == 0 || len(source.read) > manyPackages/5 {
		t.Errorf("the resolution read %d of %d packages", len(source.read), manyPackages)
	}
}

// BenchmarkResolve resolves 50 Subscriptions with dependencies against a catalog of 10,000 bundles, including the time to read its packages.
func BenchmarkResolve(b *testing.B) {
	for b.Loop() {
		p, source := manySubscriptions()
		result, err := resolve.Resolve(p)
		if err != nil {
			b.Fatal(err)
		}
		moved := slices.DeleteFunc(result.Subscriptions, func(o resolve.Outcome) bool { return o.Bundle.Name == "" })
		b.ReportMetric(float64(len(moved)), "moved")
		b.ReportMetric(float64(len(result.Additions)), "added")
		b.ReportMetric(float64(len(source.read)), "packages")
	}
}

// TestDependenciesThatAreTooComplex resolves dependencies that are made to occupy the solver: more Subscriptions than packages, of which each
// has a version for each Subscription.
func TestDependenciesThatAreTooComplex(t *testing.T) {
	t.Parallel()
	const packages = 14
	shop := types.NamespacedName{Namespace: "olm", Name: "shop"}
	p := resolve.Problem{Namespace: "tills", Limit: 50 * time.Millisecond}
	var source resolve.Packages
	for i := range packages + 1 {
		var any []string
		for j := range packages {
			any = append(any, fmt.Sprintf(`{"package": {"packageName": "hole%d", "versionRange": "1.%d.0"}}`, j, i))
		}
		name := fmt.Sprintf("pigeon%02d", i)
		source = append(source, single(name, resolve.Bundle{Name: name + ".v1.0.0", Version: "1.0.0", Properties: []resolve.Property{
			{Type: "olm.constraint", Value: []byte(fmt.Sprintf(`{"any": {"constraints": [%s]}}`, strings.Join(any, ",")))},
		}}))
		p.Subscriptions = append(p.Subscriptions, resolve.Subscription{Name: name, Package: name, Catalog: shop})
	}
	for j := range packages {
		source = append(source, versions(fmt.Sprintf("hole%d", j), packages+1))
	}
	p.Catalogs = []resolve.Catalog{{NamespacedName: shop, Source: source}}
	_, err := resolve.Resolve(p)
	if !errors.Is(err, resolve.ErrTooComplex) || !strings.Contains(err.Error(), "tills") {
		t.Errorf("the error is %v, want that the dependencies are too complex", err)
	}
}
