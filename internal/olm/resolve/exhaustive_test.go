package resolve_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/olm/resolve"
)

// small is a random problem whose solutions can be enumerated: each package has one channel in which each version replaces the one before.
type small struct {
	packages []string
	offered  map[string][]*version // by package, newest first, catalogs in the order shop, big
	// subscribed has the installed version of each Subscription, or nil.
	subscribed map[string]*version
	foreign    map[string]*version // installed without a Subscription
}

type version struct {
	pkg, catalog string
	number       int
	provides     []string
	needs        []smallNeed
	installed    bool
}

type smallNeed struct {
	kind, pkg   string
	least, most int
}

func (n smallNeed) text() string {
	if n.kind != "" {
		return "an operator that provides " + n.kind
	}
	return fmt.Sprintf("package %s >=%d.0.0 <=%d.0.0", n.pkg, n.least, n.most)
}

func (n smallNeed) metBy(v *version) bool {
	if n.kind != "" {
		return slices.Contains(v.provides, n.kind)
	}
	return v.pkg == n.pkg && v.number >= n.least && v.number <= n.most
}

func (v *version) name() string { return fmt.Sprintf("%s.v%d.0.0", v.pkg, v.number) }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func randomProblem(r *rand.Rand) *small {
	s := &small{offered: map[string][]*version{}, subscribed: map[string]*version{}, foreign: map[string]*version{}}
	s.packages = []string{"a", "b", "c", "d", "e"}[:2+r.IntN(4)]
	for _, pkg := range s.packages {
		for _, catalog := range []string{"shop", "big"} {
			if catalog == "big" && r.IntN(3) > 0 {
				continue
			}
			for number := 1 + r.IntN(3); number > 0; number-- {
				s.offered[pkg] = append(s.offered[pkg], s.version(r, pkg, catalog, number))
			}
		}
		switch r.IntN(6) {
		case 0:
			s.foreign[pkg] = s.runs(r, pkg)
		case 1, 2:
			s.subscribed[pkg] = s.runs(r, pkg)
		case 3, 4:
			s.subscribed[pkg] = nil
		}
	}
	return s
}

func (s *small) version(r *rand.Rand, pkg, catalog string, number int) *version {
	v := &version{pkg: pkg, catalog: catalog, number: number}
	for _, kind := range []string{"X", "Y", "Z"} {
		if r.IntN(5) == 0 {
			v.provides = append(v.provides, kind)
		}
	}
	for range r.IntN(3) {
		n := smallNeed{kind: pick(r, "X", "Y", "Z")}
		if r.IntN(2) == 0 {
			least := 1 + r.IntN(2)
			n = smallNeed{pkg: pick(r, s.packages...), least: least, most: least + r.IntN(2)}
		}
		v.needs = append(v.needs, n)
	}
	slices.SortFunc(v.needs, func(a, b smallNeed) int { return cmp.Compare(a.text(), b.text()) })
	v.needs = slices.Compact(v.needs)
	v.needs = slices.DeleteFunc(v.needs, func(n smallNeed) bool { return n.metBy(v) })
	return v
}

func (s *small) runs(r *rand.Rand, pkg string) *version {
	v := s.version(r, pkg, "shop", 1)
	v.installed = true
	return v
}

func (v *version) bundle() resolve.Bundle {
	b := resolve.Bundle{Name: v.name(), Version: fmt.Sprintf("%d.0.0", v.number)}
	for _, kind := range v.provides {
		b.Properties = append(b.Properties, property("olm.gvk", kindOf(kind)))
	}
	for _, n := range v.needs {
		if n.kind != "" {
			b.Properties = append(b.Properties, property("olm.gvk.required", kindOf(n.kind)))
			continue
		}
		within := fmt.Sprintf(">=%d.0.0 <=%d.0.0", n.least, n.most)
		b.Properties = append(b.Properties, property("olm.package.required", map[string]string{"packageName": n.pkg, "versionRange": within}))
	}
	return b
}

// problem is the input of Resolve.
func (s *small) problem() resolve.Problem {
	var p resolve.Problem
	shop := types.NamespacedName{Namespace: "olm", Name: "shop"}
	for pkg, v := range s.subscribed {
		sub := resolve.Subscription{Name: pkg, Package: pkg, Channel: "stable", Catalog: shop}
		if v != nil {
			sub.InstalledCSV = v.name()
			p.Installed = append(p.Installed, resolve.Installed{Bundle: v.bundle(), Package: pkg, Subscription: pkg})
		}
		p.Subscriptions = append(p.Subscriptions, sub)
	}
	for pkg, v := range s.foreign {
		p.Installed = append(p.Installed, resolve.Installed{Bundle: v.bundle(), Package: pkg})
	}
	for _, catalog := range []string{"big", "shop"} {
		var all resolve.Packages
		for pkg, versions := range s.offered {
			made := resolve.Package{Name: pkg, DefaultChannel: "stable", Channels: []resolve.Channel{{Name: "stable"}}}
			for _, v := range versions {
				if v.catalog == catalog {
					made.Bundles = append(made.Bundles, v.bundle())
					e := resolve.Entry{Name: v.name()}
					if v.number > 1 {
						e.Replaces = (&version{pkg: pkg, number: v.number - 1}).name()
					}
					made.Channels[0].Entries = append(made.Channels[0].Entries, e)
				}
			}
			if len(made.Bundles) > 0 {
				all = append(all, made)
			}
		}
		name := types.NamespacedName{Namespace: "olm", Name: catalog}
		p.Catalogs = append(p.Catalogs, resolve.Catalog{NamespacedName: name, Source: all})
	}
	return p
}

// options are the versions that a package may have. optional means that it may have none.
func (s *small) options(pkg string) (versions []*version, optional bool) {
	if v := s.foreign[pkg]; v != nil {
		return []*version{v}, false
	}
	installed, subscribed := s.subscribed[pkg]
	if !subscribed {
		return s.offered[pkg], true
	}
	for _, v := range s.offered[pkg] {
		if v.catalog == "shop" && (installed == nil || v.number == installed.number+1) {
			versions = append(versions, v)
		}
	}
	if installed != nil {
		versions = append(versions, installed)
	}
	return versions, installed == nil
}

// best enumerates all solutions, and returns the one with the lowest rank.
func (s *small) best() (bundles []string) {
	var lowest []int
	var try func(i int, chosen []*version)
	try = func(i int, chosen []*version) {
		if i < len(s.packages) {
			versions, optional := s.options(s.packages[i])
			if optional {
				try(i+1, chosen)
			}
			for _, v := range versions {
				try(i+1, append(slices.Clone(chosen), v))
			}
			return
		}
		if !s.allowed(chosen) {
			return
		}
		rank, needed := s.rank(chosen)
		if lowest == nil || slices.Compare(rank, lowest) < 0 {
			lowest, bundles = rank, needed
		}
	}
	try(0, nil)
	return bundles
}

func (s *small) runsNow() []*version {
	var all []*version
	for _, pkg := range s.packages {
		if v := cmp.Or(s.foreign[pkg], s.subscribed[pkg]); v != nil {
			all = append(all, v)
		}
	}
	return all
}

func meets(n smallNeed, all []*version) bool { return slices.ContainsFunc(all, n.metBy) }

// allowed checks the constraints: dependencies, except those of installed versions that are not met now, and kinds.
func (s *small) allowed(chosen []*version) bool {
	for i, v := range chosen {
		for _, n := range v.needs {
			if !meets(n, chosen) && (!v.installed || meets(n, s.runsNow())) {
				return false
			}
		}
		for _, other := range chosen[:i] {
			shared := slices.ContainsFunc(v.provides, func(kind string) bool { return slices.Contains(other.provides, kind) })
			if shared && (!v.installed || !other.installed) {
				return false
			}
		}
	}
	return true
}

// rank is the preference of a solution, as documented for Resolve, and the bundles that are needed in it.
func (s *small) rank(chosen []*version) (rank []int, needed []string) {
	unmet := map[string]bool{}
	var misses, missing, best []int
	for _, v := range s.runsNow() {
		for _, n := range v.needs {
			if meets(n, s.runsNow()) {
				continue
			}
			miss := slices.Contains(chosen, v) && !meets(n, chosen)
			misses = append(misses, number(miss))
			unmet[v.name()+n.text()] = miss
		}
	}
	var visited []*version
	for _, pkg := range s.packages {
		installed, subscribed := s.subscribed[pkg]
		if !subscribed {
			continue
		}
		versions, _ := s.options(pkg)
		at := slices.IndexFunc(versions, func(v *version) bool { return slices.Contains(chosen, v) })
		best = append(best, at)
		if at >= 0 {
			visited = append(visited, versions[at])
		}
		if installed == nil {
			missing = append(missing, number(at < 0))
		}
	}
	for _, pkg := range s.packages {
		if v := s.foreign[pkg]; v != nil {
			visited = append(visited, v)
		}
	}
	// Subscriptions that stay at the head are resolved with the foreign ones: all of them are fixed.
	visited = s.inOrder(visited)
	rank = append(append([]int{sum(misses)}, misses...), sum(missing))
	rank = append(append(rank, missing...), best...)
	for i := 0; i < len(visited); i++ {
		for _, n := range visited[i].needs {
			if unmet[visited[i].name()+n.text()] && visited[i].installed || meets(n, visited) {
				continue
			}
			at, provider := s.provider(n, visited[i].catalog, chosen)
			rank = append(rank, at)
			visited = append(visited, provider)
		}
	}
	for _, v := range visited {
		needed = append(needed, v.name())
	}
	slices.Sort(needed)
	return rank, needed
}

// inOrder puts the versions that cannot move behind the choices for Subscriptions.
func (s *small) inOrder(all []*version) []*version {
	fixed := func(v *version) bool {
		versions, optional := s.options(v.pkg)
		return v.installed && len(versions) == 1 && !optional
	}
	slices.SortStableFunc(all, func(a, b *version) int { return number(fixed(a)) - number(fixed(b)) })
	first := slices.IndexFunc(all, fixed)
	if first >= 0 {
		slices.SortFunc(all[first:], func(a, b *version) int { return cmp.Compare(a.name(), b.name()) })
	}
	return all
}

// provider returns the preferred chosen version that meets a dependency of a bundle from a catalog.
func (s *small) provider(n smallNeed, own string, chosen []*version) (int, *version) {
	var ordered []*version
	for _, pkg := range s.packages {
		if _, optional := s.options(pkg); optional {
			ordered = append(ordered, s.offered[pkg]...)
		}
	}
	slices.SortStableFunc(ordered, func(a, b *version) int {
		return cmp.Or(number(a.catalog != own)-number(b.catalog != own), cmp.Compare(a.catalog, b.catalog), cmp.Compare(a.pkg, b.pkg), b.number-a.number)
	})
	for i, v := range ordered {
		if n.metBy(v) && slices.Contains(chosen, v) {
			return i, v
		}
	}
	panic("a solution without a provider of " + n.text()) // the clauses demand one
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func sum(all []int) int {
	total := 0
	for _, one := range all {
		total += one
	}
	return total
}

// bundlesAfter are the bundles of the namespace after the result was carried out.
func bundlesAfter(p resolve.Problem, r resolve.Result) []string {
	var all []string
	replaced := map[string]bool{}
	for _, o := range r.Subscriptions {
		if o.Bundle.Name != "" {
			all = append(all, o.Bundle.Name)
			replaced[o.Installed] = true
		}
	}
	for _, a := range r.Additions {
		all = append(all, a.Bundle.Name)
	}
	for _, one := range p.Installed {
		if !replaced[one.Name] {
			all = append(all, one.Name)
		}
	}
	slices.Sort(all)
	return all
}

// TestChoiceIsTheBestOfAllSolutions compares the choice for random problems with the best of all solutions.
func TestChoiceIsTheBestOfAllSolutions(t *testing.T) {
	t.Parallel()
	blocked, added := 0, 0
	for seed := range uint64(3000) {
		s := randomProblem(rand.New(rand.NewPCG(seed, 0)))
		p := s.problem()
		result, err := resolve.Resolve(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := bundlesAfter(p, result), s.best(); !slices.Equal(got, want) {
			t.Errorf("seed %d: the result is %s, want %s\n%s", seed, strings.Join(got, " "), strings.Join(want, " "), show(result))
		}
		added += len(result.Additions)
		for _, o := range result.Subscriptions {
			if o.Action == resolve.Blocked {
				blocked++
			}
			if o.Message == "" || strings.HasSuffix(o.Message, ": ") || strings.HasSuffix(o.Held, ": ") {
				t.Errorf("seed %d: the reason is missing: %s", seed, show(result))
			}
			if longest := 3 * 120; len(o.Message) > longest || len(o.Held) > longest || strings.Contains(o.Message+o.Held, "\n") { // three lines of a terminal
				t.Errorf("seed %d: the reason is too long: %s", seed, show(result))
			}
		}
	}
	if blocked < 300 || added < 300 {
		t.Errorf("%d Subscriptions were blocked and %d bundles added: the problems are too easy", blocked, added)
	}
}
