package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/go-air/gini/z"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/olm/property"
)

// heldBack explains why a Subscription does not get its first option.
func (c *choice) heldBack(g *group) string {
	first := g.options[0]
	text := c.sentence(first.candidate, nil, c.conflict(first.lit, g.earlier))
	others := len(g.options) - 1
	if g.current != nil {
		others--
	}
	if others == 0 || g.best != nil && g.best.candidate != g.current {
		return text
	}
	return fmt.Sprintf("%s; %s cannot be installed either", text, plural.Count(others, "other version"))
}

// sentence explains why a candidate cannot be chosen, by the constraints and choices that exclude it.
func (c *choice) sentence(of *candidate, first, conflict []z.Lit) string {
	e := &explanation{choice: c, of: of, conflict: append(first, conflict...)}
	e.addNeeds()
	e.addOthers()
	if of.installed {
		return join(e.clauses)
	}
	return fmt.Sprintf("%s cannot be installed: %s", of.Name, join(e.clauses))
}

// longest is the length of the clauses of a sentence, in bytes, from which on they are only counted: nobody follows more of them. Two are always
// there, because a conflict has two sides.
const longest = 200

// join joins clauses of a sentence.
func join(clauses []string) string {
	length := 0
	for i, one := range clauses {
		if left := len(clauses) - i; i >= 2 && left > 1 && length+len(one) > longest {
			clauses = append(slices.Clone(clauses[:i]), plural.Count(left, "further condition"))
			break
		}
		length += len(one)
	}
	if len(clauses) < 3 {
		return strings.Join(clauses, ", and ")
	}
	return strings.Join(clauses[:len(clauses)-1], ", ") + ", and " + clauses[len(clauses)-1]
}

// explanation collects the clauses of a sentence from a conflict.
type explanation struct {
	*choice
	of       *candidate
	conflict []z.Lit
	clauses  []string
	// named are the packages of which a clause names the bundle that they have.
	named map[string]bool
}

// addNeeds adds the dependencies in the conflict, from the candidate along its providers. Equal dependencies of several versions of a package
// are one clause.
func (e *explanation) addNeeds() {
	var needs []*need
	for _, one := range e.conflict {
		if n := e.about[one].need; n != nil {
			needs = append(needs, n)
		}
	}
	distance := map[*candidate]int{e.of: 0}
	for changed := true; changed; {
		changed = false
		for _, n := range needs {
			at, reached := distance[n.of]
			if !reached {
				continue
			}
			for _, one := range n.providers {
				if _, known := distance[one]; !known {
					distance[one], changed = at+1, true
				}
			}
		}
	}
	far := len(distance)
	depth := func(n *need) int {
		if at, ok := distance[n.of]; ok {
			return at
		}
		return far
	}
	slices.SortStableFunc(needs, func(a, b *need) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(a.of.Package, b.of.Package), cmp.Compare(a.Key, b.Key))
	})
	for len(needs) > 0 {
		same := slices.IndexFunc(needs, func(n *need) bool { return n.Key != needs[0].Key || n.of.Package != needs[0].of.Package })
		if same < 0 {
			same = len(needs)
		}
		e.addNeed(needs[:same])
		needs = needs[same:]
	}
}

func (e *explanation) addNeed(same []*need) {
	var dependents []string
	for _, n := range same {
		dependents = append(dependents, n.of.Name)
	}
	verb := "needs"
	if len(dependents) > 1 {
		verb = "need"
	}
	n := same[0]
	subject := list(dependents, "and")
	if n.of == e.of && len(same) == 1 && !e.of.installed {
		subject = "it"
	}
	text := fmt.Sprintf("%s %s %s", subject, verb, n.Text)
	if n.Message != "" && !strings.Contains(n.Text, fmt.Sprintf("%q", n.Message)) {
		text += fmt.Sprintf(" (%q)", n.Message)
	}
	if n.Within == nil && len(n.providers) > 0 {
		text += ", which is " + list(names(n.providers), "or")
	}
	e.clauses = append(e.clauses, text)
	if len(n.providers) == 0 {
		e.clauses = append(e.clauses, e.missing(n))
	}
}

// addOthers adds the other constraints and the choices in the conflict.
func (e *explanation) addOthers() {
	e.named = map[string]bool{}
	var last []string
	for _, one := range e.conflict {
		text := e.about[one]
		switch {
		case text.apart != nil:
			e.clauses = append(e.clauses, fmt.Sprintf("packages %s and %s both provide %s", text.apart.a, text.apart.b, property.KindText(text.apart.kind)))
		case text.barred != nil:
			last = append(last, e.barred(text.barred))
		case text.fixed != nil && text.fixed != e.of:
			e.named[text.fixed.Package] = true
			last = append(last, e.stays(text.fixed))
		case text.keeps != nil && text.keeps.current != e.of:
			e.named[text.keeps.pkg] = true
			last = append(last, fmt.Sprintf("Subscription %s has %s", text.keeps.subscription.Name, list(names(text.keeps.members()), "or")))
		case text.chosen != nil:
			e.named[text.chosen.Package] = true
			last = append(last, e.got(text.chosen))
		case text.wished != nil:
			e.named[text.wished.pkg] = true
			last = append(last, e.got(text.wished.best.candidate))
		}
	}
	slices.Sort(last)
	e.clauses = append(e.clauses, last...)
	for _, one := range e.conflict {
		if text := e.about[one]; text.one != nil && !e.named[text.one.pkg] {
			e.clauses = append(e.clauses, fmt.Sprintf("a namespace can have only one version of package %s", text.one.pkg))
		}
	}
}

// barred describes a bundle that cannot be used.
func (e *explanation) barred(one *candidate) string {
	if one == e.of {
		return one.unusable
	}
	return fmt.Sprintf("%s cannot be used: %s", one.Name, one.unusable)
}

// got describes the bundle of a Subscription that was resolved before.
func (e *explanation) got(one *candidate) string {
	name := e.groups[one.Package].subscription.Name
	if one.installed {
		return fmt.Sprintf("Subscription %s keeps %s", name, one.Name)
	}
	return fmt.Sprintf("Subscription %s gets %s", name, one.Name)
}

// stays describes an installed bundle that cannot be upgraded.
func (e *explanation) stays(one *candidate) string {
	if g := e.groups[one.Package]; g.subscription != nil {
		return fmt.Sprintf("Subscription %s stays at %s", g.subscription.Name, one.Name)
	}
	return one.Name + " is installed and not referenced by a Subscription"
}

// missing explains why no bundle meets a dependency.
func (e *explanation) missing(n *need) string {
	if n.Within != nil {
		if g := e.groups[n.Within.Package]; g != nil && g.closed {
			return e.closedTo(g)
		}
	}
	text := e.notOffered(n)
	if len(n.unread) > 0 {
		text += fmt.Sprintf(" (%s)", n.unread[0])
	}
	return text
}

// notOffered explains why no catalog offers a bundle for a dependency.
func (e *explanation) notOffered(n *need) string {
	switch {
	case len(n.leftOut) > 0:
		return n.leftOut[0]
	case n.Within == nil:
		return "no catalog has one"
	}
	for _, from := range e.preferred(n.of.Catalog) {
		if from.Unavailable != "" {
			continue
		}
		if found, err := from.offer(n.Within.Package); err == nil && found != nil {
			return found.ends(n.Within, e.rules)
		}
	}
	return "no catalog has package " + n.Within.Package
}

// closedTo explains which bundles a package can have that is installed or has a Subscription.
func (e *explanation) closedTo(g *group) string {
	switch members := g.members(); {
	case len(members) == 0:
		return fmt.Sprintf("Subscription %s has no bundle: %s", g.subscription.Name, g.outcome.Message)
	case g.subscription == nil || len(g.options) == 0:
		return e.stays(members[0])
	default:
		return fmt.Sprintf("Subscription %s can only have %s", g.subscription.Name, list(names(members), "or"))
	}
}

// ends explains why a package has no version in a range.
func (o *offer) ends(wanted *property.Versions, rules *property.Rules) string {
	var low, high *property.Content
	var channel string
	count := 0
	for _, name := range o.channels() {
		g, err := o.graph(name)
		if err != nil {
			continue
		}
		for _, e := range g.chain {
			one := o.bundle(e.Name, rules).Content
			if one.Version == nil {
				continue
			}
			count++
			if low == nil || one.Version.LT(*low.Version) {
				low = one
			}
			if high == nil || one.Version.GT(*high.Version) {
				high, channel = one, name
			}
		}
	}
	if high == nil {
		return fmt.Sprintf("package %s has no version", o.Name)
	}
	return describeEnd(wanted, channel, *low.Version, *high.Version, count)
}

func describeEnd(wanted *property.Versions, channel string, low, high semver.Version, count int) string {
	from, to, ok := wanted.Bounds()
	switch {
	case ok && high.LTE(from):
		return fmt.Sprintf("channel %s of %s ends at %s", channel, wanted.Package, high)
	case ok && low.GTE(to):
		return fmt.Sprintf("package %s begins at %s", wanted.Package, low)
	}
	return fmt.Sprintf("none of the %s of %s from %s to %s is in this range", plural.Count(count, "version"), wanted.Package, low, high)
}

// describe explains the choice of a Subscription.
func (g *group) describe() string {
	to, channel := g.best.Name, g.best.Channel
	one, err := g.from.graph(channel)
	if err != nil {
		return to
	}
	head := "the head"
	if one.head().Name != to {
		head = fmt.Sprintf("below the head %s", one.head().Name)
	}
	switch g.best.how {
	case StartingCSV:
		return fmt.Sprintf("startingCSV is %s, %s of channel %s", to, head, channel)
	case BySkipRange:
		return fmt.Sprintf("skipRange %s of %s, %s of channel %s, includes %s", one.all[to].SkipRange, to, head, channel, g.current.is.VersionText())
	case BySkips:
		return fmt.Sprintf("%s, %s of channel %s, skips %s", to, head, channel, g.current.Name)
	case ByReplaces:
		return fmt.Sprintf("%s, %s of channel %s, replaces %s", to, head, channel, g.current.Name)
	}
	return fmt.Sprintf("%s is %s of channel %s", to, head, channel)
}
