package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-air/gini/z"

	"github.com/operon-framework/operon/internal/olm/property"
)

// state is a problem while it is solved.
type state struct {
	namespace  string
	rules      *property.Rules
	catalogs   []*catalog
	groups     map[string]*group
	followed   []*group // with a Subscription, sorted by its name
	outcomes   []Outcome
	owners     map[string]string // the Subscriptions of installed bundles
	candidates []*candidate
	offered    map[offeredKey]*offered
	unmet      []*need // of installed bundles
}

// candidate is a bundle that may be part of the solution.
type candidate struct {
	Choice
	is        *property.Content
	installed bool
	expanded  bool   // unusable and needs are known
	unusable  string // why it cannot be used, found when its dependencies were looked up
	needs     []*need
	lit       z.Lit
}

// group has the candidates of a package.
type group struct {
	pkg          string
	subscription *Subscription
	// closed means that only options and fixed bundles may be part of the solution, because the package is installed or has a Subscription.
	closed  bool
	options []option
	// current is the bundle that the Subscription has installed. It is the last option.
	current *candidate
	adopted bool
	// fixed are installed bundles that stay.
	fixed []*candidate
	// others are candidates of a package that is not closed, by catalog and name.
	others map[Choice]*candidate
	// onlyOne is the constraint that the namespace has one bundle of the package.
	onlyOne atMostOne
	from    *offer
	// leftOut is why the bundle that the Subscription prefers to all options cannot be used, or empty.
	leftOut string
	outcome Outcome
	decided bool // the outcome does not depend on other packages
	selection
}

// selection is what is chosen for the Subscription of a group.
type selection struct {
	wish    z.Lit   // the Subscription gets a first bundle
	best    *option // the choice, or nil
	earlier []z.Lit // the choices that were made before
}

// option is a candidate that a Subscription may have, and by which rule.
type option struct {
	*candidate
	how Reason
}

// members returns the candidates of the group.
func (g *group) members() []*candidate {
	all := slices.Clone(g.fixed)
	for _, one := range g.options {
		all = append(all, one.candidate)
	}
	return all
}

func (s *state) group(pkg string) *group {
	g := s.groups[pkg]
	if g == nil {
		g = &group{pkg: pkg, others: map[Choice]*candidate{}}
		s.groups[pkg] = g
	}
	return g
}

func newState(p Problem) *state {
	s := &state{namespace: p.Namespace, rules: &property.Rules{}, groups: map[string]*group{}, offered: map[offeredKey]*offered{}}
	for _, one := range p.Catalogs {
		s.catalogs = append(s.catalogs, &catalog{Catalog: one, offers: map[string]*offer{}, found: map[Query][]string{}})
	}
	subscriptions := slices.Clone(p.Subscriptions)
	slices.SortFunc(subscriptions, func(a, b Subscription) int { return cmp.Compare(a.Name, b.Name) })
	s.addInstalled(p.Installed, subscriptions)
	s.addSubscriptions(subscriptions)
	for _, g := range s.followed {
		s.follow(g)
	}
	return s
}

// addInstalled puts all installed bundles into their groups. Those that can be upgraded are taken out later.
func (s *state) addInstalled(all []Installed, subscriptions []Subscription) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Installed) int { return cmp.Compare(a.Name, b.Name) })
	for _, one := range all {
		choice := Choice{Package: one.Package, Name: one.Name}
		for _, sub := range subscriptions {
			if sub.Name == one.Subscription || sub.InstalledCSV == one.Name {
				choice.Catalog, choice.Package = sub.Catalog, cmp.Or(choice.Package, sub.Package)
			}
		}
		choice.Package = cmp.Or(choice.Package, one.Name)
		is, _ := property.Read(choice.Package, one.Bundle, s.rules) // it runs already: properties that cannot be read have no effect
		choice.Version = is.VersionText()
		g := s.group(choice.Package)
		g.closed = true
		g.fixed = append(g.fixed, s.candidate(&candidate{Choice: choice, is: is, installed: true}))
	}
	s.findOwners(all, subscriptions)
}

// findOwners records which Subscription installs each of the installed bundles.
func (s *state) findOwners(all []Installed, subscriptions []Subscription) {
	exists := map[string]bool{}
	for _, sub := range subscriptions {
		exists[sub.Name] = true
	}
	s.owners = map[string]string{}
	for _, one := range all {
		if exists[one.Subscription] {
			s.owners[one.Name] = one.Subscription
		}
	}
	for _, sub := range subscriptions {
		if sub.InstalledCSV != "" && s.owners[sub.InstalledCSV] == "" {
			s.owners[sub.InstalledCSV] = sub.Name
		}
	}
}

// addSubscriptions gives each package the Subscription that it follows: the first one with an installed bundle, or the first one.
func (s *state) addSubscriptions(all []Subscription) {
	for _, one := range all {
		g := s.group(one.Package)
		g.closed = true
		if g.subscription == nil || !g.has(g.subscription.InstalledCSV) && g.has(one.InstalledCSV) {
			g.subscription = &one
		}
	}
	for _, one := range all {
		g := s.group(one.Package)
		if g.subscription.Name == one.Name {
			s.followed = append(s.followed, g)
			continue
		}
		s.outcomes = append(s.outcomes, Outcome{
			Subscription: one.Name, Action: Blocked, Reason: DuplicateSubscription,
			Message: fmt.Sprintf("Subscription %s already follows package %s: delete one of the two", g.subscription.Name, one.Package),
		})
	}
}

// has reports whether a bundle of the group is installed.
func (g *group) has(name string) bool {
	return slices.ContainsFunc(g.fixed, func(c *candidate) bool { return c.Name == name })
}

// decide sets an outcome that does not depend on other packages. The installed bundle stays.
func (g *group) decide(action Action, reason Reason, format string, values ...any) {
	g.decided = true
	g.outcome.Action, g.outcome.Reason, g.outcome.Message = action, reason, fmt.Sprintf(format, values...)
}

// follow fills the options of a Subscription, or decides its outcome.
func (s *state) follow(g *group) {
	sub := g.subscription
	g.outcome = Outcome{Subscription: sub.Name}
	current := s.currentOf(g)
	if g.decided {
		return
	}
	if current != nil {
		g.outcome.Installed = current.Name
	}
	from, err := s.offerFor(g)
	if err != nil {
		return
	}
	g.from = from
	graphs := g.graphs(current)
	if g.decided {
		return
	}
	var steps []channelStep
	if current == nil {
		steps = g.first(graphs)
	} else {
		steps = g.next(graphs, current)
	}
	if g.decided {
		return
	}
	s.addOptions(g, steps, current)
}

// currentOf returns the installed bundle that the Subscription may upgrade, or nil.
func (s *state) currentOf(g *group) *candidate {
	var own, foreign, progress []*candidate
	for _, one := range g.fixed {
		switch owner := s.owners[one.Name]; {
		case one.Name == g.subscription.InstalledCSV:
			own = append(own, one)
		case owner == g.subscription.Name:
			progress = append(progress, one)
		default:
			foreign = append(foreign, one)
		}
	}
	switch {
	case len(progress) > 0:
		g.decide(Keep, InProgress, "%s is being installed", progress[0].Name)
		if len(own) > 0 {
			g.outcome.Installed = own[0].Name
			g.decide(Keep, InProgress, "%s is installed, and %s is being installed or replaced", own[0].Name, progress[0].Name)
		}
	case len(own) > 0 && len(foreign) == 0:
		return own[0]
	case len(foreign) == 1 && len(own) == 0:
		g.adopted = true
		return foreign[0]
	case len(foreign) > 0:
		g.decide(Blocked, InstalledByOther, "%s installed and not referenced by Subscription %s: delete all but one of the ClusterServiceVersions of package %s",
			are(names(foreign)), g.subscription.Name, g.pkg)
	}
	return nil
}

// are returns the names in a sentence, with the verb.
func are(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return list(names, "and") + " are"
}

// names returns the names of candidates. The same bundle may come from two catalogs.
func names(all []*candidate) []string {
	var found []string
	for _, one := range all {
		if !slices.Contains(found, one.Name) {
			found = append(found, one.Name)
		}
	}
	return found
}

var errDecided = errors.New("the outcome is decided")

// offerFor returns the package in the catalog of the Subscription.
func (s *state) offerFor(g *group) (*offer, error) {
	sub := g.subscription
	from := s.catalog(sub.Catalog)
	if from == nil {
		g.decide(Blocked, CatalogNotFound, "there is no catalog %s that the namespace can use", sub.Catalog)
		return nil, errDecided
	}
	if from.Unavailable != "" {
		g.decide(Blocked, CatalogUnavailable, "catalog %s cannot be read: %s", sub.Catalog, from.Unavailable)
		return nil, errDecided
	}
	found, err := from.offer(sub.Package)
	switch {
	case err != nil:
		g.decide(Blocked, CatalogUnavailable, "%s", oneLine(err))
		return nil, errDecided
	case found == nil:
		g.decide(Blocked, PackageNotFound, "catalog %s has no package %s", sub.Catalog, sub.Package)
		return nil, errDecided
	}
	return found, nil
}

// graphs returns the graphs of the channels that the Subscription may use, the preferred one first. Without a channel in the Subscription, an
// installed bundle of the default channel stays in it.
func (g *group) graphs(current *candidate) []*graph {
	wanted := []string{g.subscription.Channel}
	if wanted[0] == "" {
		wanted = g.from.channels()
	}
	var usable []*graph
	var broken error
	for _, name := range wanted {
		one, err := g.from.graph(name)
		if err != nil {
			broken = cmp.Or(broken, err)
			continue
		}
		if _, contains := one.all[nameOf(current)]; contains && g.subscription.Channel == "" && name == g.from.DefaultChannel {
			return []*graph{one}
		}
		usable = append(usable, one)
	}
	switch {
	case len(usable) > 0:
	case len(wanted) == 0:
		g.decide(Blocked, ChannelNotFound, "package %s has no channels", g.pkg)
	case !slices.Contains(g.from.channels(), wanted[0]):
		g.decide(Blocked, ChannelNotFound, "package %s has no channel %s; it has %s", g.pkg, wanted[0], list(g.from.channels(), "and"))
	default:
		g.decide(Blocked, InvalidChannel, "package %s: %s", g.pkg, broken)
	}
	return usable
}

func nameOf(c *candidate) string {
	if c == nil {
		return ""
	}
	return c.Name
}

// channelStep is an entry of a channel that the Subscription may install next.
type channelStep struct {
	channel string
	step
}

// first returns the entries that a first installation may choose.
func (g *group) first(graphs []*graph) []channelStep {
	var steps []channelStep
	starting := g.subscription.StartingCSV
	for _, one := range graphs {
		if e, ok := one.all[starting]; ok && starting != "" {
			steps = append(steps, channelStep{one.channel, step{e, StartingCSV}})
		}
		if starting != "" {
			continue
		}
		for i, e := range one.chain {
			how := BelowChannelHead
			if i == 0 {
				how = ChannelHead
			}
			steps = append(steps, channelStep{one.channel, step{e, how}})
		}
	}
	if len(steps) == 0 {
		g.decide(Blocked, BundleNotFound, "startingCSV is %s, which is not in %s of package %s", starting, channelsOf(graphs), g.pkg)
	}
	return steps
}

func channelsOf(graphs []*graph) string {
	if len(graphs) == 1 {
		return "channel " + graphs[0].channel
	}
	return "the channels"
}

// next returns the entries to which the installed bundle can be upgraded.
func (g *group) next(graphs []*graph, current *candidate) []channelStep {
	var steps []channelStep
	known := false
	for _, one := range graphs {
		_, contains := one.all[current.Name]
		known = known || contains
		for _, successor := range one.successors(current.Name, current.is.Version) {
			steps = append(steps, channelStep{one.channel, successor})
		}
	}
	if g.adopted && !known && len(steps) == 0 {
		g.adopted = false
		g.decide(Blocked, InstalledByOther, "%s is installed and not referenced by a Subscription, and %s: delete its ClusterServiceVersion, or choose a channel that contains it",
			current.Name, graphs[0].noSuccessor(current.Name))
		return nil
	}
	if len(steps) > 0 {
		return steps
	}
	g.outcome.Adopted = g.adopted
	for _, one := range graphs {
		if one.head().Name == current.Name {
			g.decide(Keep, AtHead, "%s is the head of channel %s", current.Name, one.channel)
			g.outcome.Warnings = g.from.warnings(one.channel, current.Name)
			return nil
		}
	}
	g.decide(Keep, NoSuccessor, "%s", graphs[0].noSuccessor(current.Name))
	g.outcome.Warnings = g.from.warnings(graphs[0].channel, current.Name)
	return nil
}

// addOptions makes candidates of entries. The installed bundle becomes the last option.
func (s *state) addOptions(g *group, steps []channelStep, current *candidate) {
	g.outcome.Adopted = g.adopted
	seen := map[string]bool{}
	unusable := UnusableBundles
	for _, one := range steps {
		if seen[one.Name] {
			continue
		}
		seen[one.Name] = true
		if why := g.subscription.Avoid[one.Name]; why != "" {
			if len(g.options) == 0 {
				unusable, g.leftOut = RolledBack, why
			}
			continue
		}
		bundle := g.from.bundle(one.Name, s.rules)
		if bundle.problem != "" {
			if len(g.options) == 0 {
				g.leftOut = cmp.Or(g.leftOut, bundle.problem)
			}
			continue
		}
		g.options = append(g.options, option{s.newCandidate(g.from, one.channel, bundle.Content), one.how})
	}
	if len(g.options) == 0 {
		g.decide(Blocked, unusable, "%s", g.leftOut)
		return
	}
	if current == nil {
		return
	}
	g.current = current
	g.options = append(g.options, option{current, ""})
	g.fixed = slices.DeleteFunc(g.fixed, func(c *candidate) bool { return c == current })
}

func (s *state) newCandidate(from *offer, channel string, is *property.Content) *candidate {
	choice := Choice{Catalog: from.from.NamespacedName, Package: from.Name, Channel: channel, Name: is.Name, Version: is.VersionText()}
	return s.candidate(&candidate{Choice: choice, is: is})
}

func (s *state) candidate(c *candidate) *candidate {
	s.candidates = append(s.candidates, c)
	return c
}

// oneLine returns an error without line breaks.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// list joins names as in "a, b and c". Long lists are cut.
func list(names []string, last string) string {
	const longest = 4
	if len(names) > longest {
		more := len(names) - longest + 1
		names = append(slices.Clone(names[:longest-1]), fmt.Sprintf("%d more", more))
	}
	switch len(names) {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}
