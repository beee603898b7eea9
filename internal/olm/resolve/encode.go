package resolve

import (
	"maps"
	"slices"
	"time"

	"github.com/go-air/gini/z"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// constraintText says what a literal is about. One of the fields is set.
type constraintText struct {
	need   *need      // the bundle needs one of the providers
	one    *group     // only one bundle of the package
	apart  *apart     // two packages do not provide the same kind
	fixed  *candidate // an installed bundle stays
	keeps  *group     // a Subscription with an installed bundle keeps a bundle
	barred *candidate // the bundle cannot be used
	// chosen and wished are choices for earlier Subscriptions.
	chosen *candidate
	wished *group
}

// apart are two packages with bundles that provide the same kind.
type apart struct {
	kind schema.GroupVersionKind
	a, b string
}

// encoder makes clauses of candidates. Candidates are added while the solution is searched for: the dependencies of a bundle are looked up only
// when it is considered.
type encoder struct {
	*state
	*solver
	encoded int // candidates
	kinds   map[schema.GroupVersionKind][]*provider
}

// provider is a package with bundles that provide a kind.
type provider struct {
	pkg string
	// any is true if one of the bundles is chosen, except rivals.
	any    z.Lit
	rivals []*candidate
}

func newEncoder(s *state, limit time.Duration) *encoder {
	e := &encoder{state: s, solver: newSolver(limit), kinds: map[schema.GroupVersionKind][]*provider{}}
	e.addCandidates()
	for _, pkg := range slices.Sorted(maps.Keys(s.groups)) {
		s.groups[pkg].encode(e.solver)
	}
	for _, c := range slices.Clone(s.candidates) {
		if c.installed {
			e.expand(c)
		}
	}
	return e
}

// addCandidates adds the candidates that were found since the last call.
func (e *encoder) addCandidates() {
	added := e.candidates[e.encoded:]
	e.encoded = len(e.candidates)
	for _, c := range added {
		c.lit = e.literal()
		e.about[c.lit] = constraintText{chosen: c}
		if g := e.groups[c.Package]; !slices.Contains(g.fixed, c) {
			g.onlyOne.add(e.solver, c.lit, constraintText{one: g})
		}
	}
	for _, c := range added {
		for _, kind := range c.is.Provides {
			e.addProvider(kind, c)
		}
	}
}

// encode adds which bundles of a package with a Subscription or an installed bundle have to stay.
func (g *group) encode(to *solver) {
	for _, one := range g.fixed {
		to.clause(to.constraint(constraintText{fixed: one}).Not(), one.lit)
	}
	if len(g.options) == 0 {
		return
	}
	var all []z.Lit
	for _, one := range g.options {
		all = append(all, one.lit)
	}
	if g.current != nil {
		on := to.constraint(constraintText{keeps: g})
		to.clause(append([]z.Lit{on.Not()}, all...)...)
		return
	}
	g.wish = to.literal()
	to.about[g.wish] = constraintText{wished: g}
	to.clause(append([]z.Lit{g.wish.Not()}, all...)...)
	for _, one := range all {
		to.clause(one.Not(), g.wish)
	}
}

// expand adds the dependencies of a candidate, and the candidates that meet them.
func (e *encoder) expand(c *candidate) {
	if c.expanded {
		return
	}
	c.expanded = true
	for _, r := range c.is.Requires {
		if err := e.addNeed(c, r); err != nil && !c.installed {
			c.unusable = oneLine(err)
		}
	}
	e.addCandidates()
	if c.unusable != "" {
		e.clause(e.constraint(constraintText{barred: c}).Not(), c.lit.Not())
	}
	for _, n := range c.needs {
		e.encodeNeed(n)
	}
}

// encodeNeed adds that a bundle needs one of the providers. A dependency of an installed bundle that is not met now is only wished for:
// the operator runs, and must not keep others from moving.
func (e *encoder) encodeNeed(n *need) {
	var on z.Lit
	if n.of.installed && !hasInstalled(n.providers) {
		on = e.literal()
		e.about[on] = constraintText{need: n}
		n.wish = on
		e.unmet = append(e.unmet, n)
	} else {
		on = e.constraint(constraintText{need: n})
	}
	clause := []z.Lit{on.Not(), n.of.lit.Not()}
	for _, one := range n.providers {
		clause = append(clause, one.lit)
	}
	e.clause(clause...)
}

func hasInstalled(all []*candidate) bool {
	return slices.ContainsFunc(all, func(c *candidate) bool { return c.installed })
}

// addProvider adds that not both the package of a candidate and another one have a bundle that provides a kind. Installed bundles that provide
// the same kind already may stay: they are rivals, which exclude only other candidates.
func (e *encoder) addProvider(kind schema.GroupVersionKind, c *candidate) {
	of := e.provider(kind, c.Package)
	if !c.installed || !e.isRival(kind, c) {
		e.clause(c.lit.Not(), of.any)
		return
	}
	of.rivals = append(of.rivals, c)
	for _, other := range e.kinds[kind] {
		if other != of {
			e.keepApart(kind, other.pkg, c.Package, other.any, c.lit)
		}
	}
}

// provider returns the provider of a kind for a package. A new one is kept apart from the others.
func (e *encoder) provider(kind schema.GroupVersionKind, pkg string) *provider {
	all := e.kinds[kind]
	if i := slices.IndexFunc(all, func(p *provider) bool { return p.pkg == pkg }); i >= 0 {
		return all[i]
	}
	added := &provider{pkg: pkg, any: e.literal()}
	for _, other := range all {
		literals := []z.Lit{other.any}
		for _, one := range other.rivals {
			literals = append(literals, one.lit)
		}
		e.keepApart(kind, other.pkg, pkg, added.any, literals...)
	}
	e.kinds[kind] = append(all, added)
	return added
}

// keepApart adds that a literal and each of the others are not both true.
func (e *encoder) keepApart(kind schema.GroupVersionKind, a, b string, one z.Lit, others ...z.Lit) {
	on := e.constraint(constraintText{apart: &apart{kind, min(a, b), max(a, b)}})
	for _, other := range others {
		e.clause(on.Not(), one.Not(), other.Not())
	}
}

// isRival reports whether another package has an installed bundle that provides the kind, too.
func (e *encoder) isRival(kind schema.GroupVersionKind, c *candidate) bool {
	return slices.ContainsFunc(e.candidates[:e.encoded], func(other *candidate) bool {
		return other.installed && other.Package != c.Package && slices.Contains(other.is.Provides, kind)
	})
}
