package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/go-air/gini/z"
)

// Resolve decides what the Subscriptions of a namespace get. Earlier preferences win over later ones:
//
//  1. As many dependencies of installed bundles as possible are met, then as many Subscriptions without an installed bundle as possible get
//     one. Among equals, the first by name wins.
//  2. Each Subscription, by name, gets its best bundle: the one closest to the head, in the default channel before others; the installed
//     one is the last.
//  3. Each dependency of the chosen bundles is met, breadth first: by a bundle that is already chosen, or by the best provider: from the
//     catalog of the bundle, from catalogs of the namespace, from catalogs with a higher priority, by the names of catalogs; in a catalog from
//     default channels, by the names of packages and channels, from the head down.
//
// At most one bundle of a package is chosen, and at most one that provides a kind. Nothing is added that is not needed. Installed bundles to
// which no Subscription refers stay, and so does a dependency that is met now.
//
// An error means that nothing is known about any Subscription: two Subscriptions, catalogs or installed bundles have the same name, or the
// dependencies are too complex (ErrTooComplex).
func Resolve(p Problem) (Result, error) {
	if err := p.check(); err != nil {
		return Result{}, err
	}
	c := &choice{encoder: newEncoder(newState(p), cmp.Or(p.Limit, usualLimit))}
	for !c.attempt() {
		if err := c.rewind(); err != nil {
			return Result{}, fmt.Errorf("namespace %s: %w", p.Namespace, err)
		}
	}
	result := c.result()
	if c.exhausted {
		return Result{}, fmt.Errorf("namespace %s: %w", p.Namespace, ErrTooComplex)
	}
	return result, nil
}

// ErrTooComplex means that the dependencies of bundles are so complex that the solver does not find an answer in time. Bundles are untrusted, and
// dependencies can be made for this purpose.
var ErrTooComplex = errors.New("the dependencies are too complex: the solver did not find an answer in time")

// errContradiction is an error of this package: that all installed bundles stay is always a solution.
var errContradiction = errors.New("internal error: the installed bundles contradict the constraints of the namespace")

const usualLimit = 5 * time.Second

func (p Problem) check() error {
	var problems []error
	unique := func(what string, seen map[string]bool, name string) {
		if seen[name] {
			problems = append(problems, fmt.Errorf("there are two %s %s", what, name))
		}
		seen[name] = true
	}
	subscriptions, installed, catalogs := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, one := range p.Subscriptions {
		unique("Subscriptions", subscriptions, one.Name)
	}
	for _, one := range p.Installed {
		unique("installed bundles", installed, one.Name)
	}
	for _, one := range p.Catalogs {
		unique("catalogs", catalogs, one.NamespacedName.String())
	}
	return errors.Join(problems...)
}

// choice is an attempt to choose in the order of preferences.
type choice struct {
	*encoder
	chosen map[*candidate]bool
	// wished are the decisions about wishes, and trail those about candidates after them. step is the next one of the trail.
	wished []z.Lit
	trail  []verdict
	step   int
	// made are the choices that later explanations may refer to: Subscriptions that get a bundle, and the bundles of Subscriptions.
	made      []z.Lit
	queue     []*candidate
	additions []*candidate
}

// verdict is the decision about a candidate.
type verdict struct {
	lit      z.Lit
	feasible bool
}

// attempt chooses as if bundles whose dependencies were not looked up yet had none. It looks them up for each bundle that it considers, and fails
// if that shows that an earlier choice was wrong. An attempt that succeeds is the best choice, because dependencies only take choices away.
func (c *choice) attempt() bool {
	c.chosen, c.made, c.queue, c.additions, c.step = map[*candidate]bool{}, nil, nil, nil, 0
	c.wishes()
	return c.subscriptions() && c.dependencies()
}

// accept chooses a candidate if that is feasible with its dependencies.
func (c *choice) accept(one *candidate) bool {
	c.expand(one)
	if c.step == len(c.trail) {
		c.trail = append(c.trail, verdict{one.lit, c.feasible(one.lit)})
	}
	is := c.trail[c.step]
	c.step++
	if !is.feasible {
		return false
	}
	c.decide(one.lit)
	if !c.chosen[one] {
		c.chosen[one] = true
		c.queue = append(c.queue, one)
	}
	return true
}

// rewind shortens the trail to the decisions that are still feasible together. The decision after them turned out to be infeasible. Candidates
// that were infeasible before still are.
func (c *choice) rewind() error {
	c.decided = c.wished
	if !c.feasible() {
		c.decided, c.wished, c.trail = nil, nil, nil
		return c.failure(c.feasible())
	}
	var accepted []int // positions in the trail
	var literals []z.Lit
	for i, one := range c.trail {
		if one.feasible {
			accepted, literals = append(accepted, i), append(literals, one.lit)
		}
	}
	keep := sort.Search(len(accepted), func(n int) bool { return !c.feasible(literals[:n+1]...) })
	if keep == len(accepted) || c.exhausted {
		return c.failure(false)
	}
	c.trail = c.trail[:accepted[keep]+1]
	c.trail[accepted[keep]].feasible = false
	return nil
}

// failure returns why no further attempt can succeed, or nil.
func (c *choice) failure(solvable bool) error {
	switch {
	case c.exhausted:
		return ErrTooComplex
	case !solvable:
		return errContradiction
	}
	return nil
}

// wishes decides which dependencies of installed bundles are met and which Subscriptions get a first bundle.
func (c *choice) wishes() {
	c.decided = nil
	var needed, wanted []z.Lit
	for _, n := range c.unmet {
		needed = append(needed, n.wish)
	}
	for _, g := range c.followed {
		if g.wish != z.LitNull {
			wanted = append(wanted, g.wish)
		}
	}
	if c.wished == nil {
		c.maximize("dependencies", needed)
		c.maximize("Subscriptions", wanted)
		c.wished = c.decided
	}
	c.decided = slices.Clone(c.wished)
	for _, one := range append(needed, wanted...) {
		if slices.Contains(c.decided, one) {
			c.made = append(c.made, one)
		}
	}
}

// subscriptions gives each Subscription its best bundle. It fails if none is feasible although the wishes were.
func (c *choice) subscriptions() bool {
	for _, g := range c.followed {
		g.best, g.earlier = nil, slices.Clone(c.made)
		for i := range g.options {
			if (g.wish == z.LitNull || slices.Contains(c.decided, g.wish)) && c.accept(g.options[i].candidate) {
				g.best = &g.options[i]
				c.made = append(c.made, g.best.lit)
				break
			}
		}
		if g.best == nil && len(g.options) > 0 && !slices.Contains(c.decided, g.wish.Not()) {
			return false
		}
	}
	return true
}

// dependencies adds providers for what the chosen bundles need.
func (c *choice) dependencies() bool {
	for _, one := range c.candidates {
		if one.installed && slices.Contains(c.groups[one.Package].fixed, one) {
			c.chosen[one] = true
			c.queue = append(c.queue, one)
		}
	}
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		for _, n := range next.needs {
			wanted := n.wish == z.LitNull || slices.Contains(c.decided, n.wish)
			if wanted && !c.meet(n) {
				return false
			}
		}
	}
	return true
}

// meet chooses a provider. It fails if none is feasible.
func (c *choice) meet(n *need) bool {
	if slices.ContainsFunc(n.providers, func(one *candidate) bool { return c.chosen[one] }) {
		return true
	}
	for _, one := range n.providers {
		if c.accept(one) {
			c.additions = append(c.additions, one)
			return true
		}
	}
	return false
}

func (c *choice) result() Result {
	result := Result{Subscriptions: c.outcomes}
	for _, g := range c.followed {
		result.Subscriptions = append(result.Subscriptions, c.outcome(g))
	}
	slices.SortFunc(result.Subscriptions, func(a, b Outcome) int { return cmp.Compare(a.Subscription, b.Subscription) })
	for _, one := range c.additions {
		result.Additions = append(result.Additions, c.addition(one))
	}
	for _, n := range c.unmet {
		if c.chosen[n.of] && !slices.Contains(c.decided, n.wish) {
			result.Unmet = append(result.Unmet, c.sentence(n.of, []z.Lit{n.wish}, c.conflict(n.wish, c.made)))
		}
	}
	return result
}

// outcome returns the outcome for the Subscription of a group.
func (c *choice) outcome(g *group) Outcome {
	o := g.outcome
	if g.decided {
		return o
	}
	held := g.leftOut
	if g.best == nil || g.best.candidate != g.options[0].candidate {
		held = strings.TrimPrefix(held+"; "+c.heldBack(g), "; ")
	}
	if g.best == nil || g.best.candidate == g.current {
		o.Action, o.Reason, o.Message = Blocked, Unsatisfiable, held
		if g.current != nil {
			o.Warnings = g.from.warnings(cmp.Or(g.subscription.Channel, g.from.DefaultChannel), g.current.Name)
		}
		return o
	}
	o.Action = Install
	if g.current != nil {
		o.Action = Upgrade
	}
	o.Reason, o.Bundle, o.Message, o.Held = g.best.how, g.best.Choice, g.describe(), held
	o.Warnings = g.from.warnings(o.Bundle.Channel, cmp.Or(o.Installed, o.Bundle.Name))
	return o
}

// addition returns a dependency with the Subscription for it.
func (c *choice) addition(one *candidate) Addition {
	var neededBy []string
	for other := range c.chosen {
		for _, n := range other.needs {
			if slices.Contains(n.providers, one) {
				neededBy = append(neededBy, other.Name)
				break
			}
		}
	}
	slices.Sort(neededBy)
	verb := "need"
	if len(neededBy) == 1 {
		verb = "needs"
	}
	from, _ := c.catalog(one.Catalog).offer(one.Package) // it was read before
	return Addition{
		Subscription: Subscription{
			Name:    fmt.Sprintf("%s-%s-%s-%s", one.Package, one.Channel, one.Catalog.Name, one.Catalog.Namespace),
			Package: one.Package, Channel: one.Channel, Catalog: one.Catalog, StartingCSV: one.Name,
		},
		Bundle: one.Choice, NeededBy: neededBy,
		Message:  fmt.Sprintf("%s %s it", list(neededBy, "and"), verb),
		Warnings: from.warnings(one.Channel, one.Name),
	}
}
