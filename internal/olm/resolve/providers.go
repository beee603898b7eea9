package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-air/gini/z"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/olm/property"
)

// need is a dependency of a candidate that it does not meet itself.
type need struct {
	*property.Requirement
	of *candidate
	*offered
	wish z.Lit // set if the bundle is installed and the dependency is not met now
}

// offered are the candidates that meet a requirement, the preferred one first.
type offered struct {
	providers []*candidate
	// leftOut are reasons why bundles that meet the requirement cannot be used, and unread those why catalogs and packages cannot be read.
	leftOut, unread []string
}

type offeredKey struct {
	requirement string
	own         types.NamespacedName
}

// addNeed adds a requirement to a candidate. The constraint all is divided if no bundle meets the whole.
func (s *state) addNeed(c *candidate, r *property.Requirement) error {
	if own, err := r.Meets(c.is); own || err != nil {
		return err
	}
	found, err := s.offer(r, c.Catalog)
	if err != nil {
		return err
	}
	if len(found.providers) > 0 || len(r.Parts) == 0 {
		c.needs = append(c.needs, &need{Requirement: r, of: c, offered: found})
		return nil
	}
	for _, part := range r.Parts {
		if err := s.addNeed(c, part); err != nil {
			return err
		}
	}
	return nil
}

// offer returns the candidates for a requirement of a bundle from a catalog.
func (s *state) offer(r *property.Requirement, own types.NamespacedName) (*offered, error) {
	key := offeredKey{r.Key, own}
	if known, ok := s.offered[key]; ok {
		return known, nil
	}
	found := &offered{}
	if err := s.offerClosed(r, found); err != nil {
		return nil, err
	}
	for _, from := range s.preferred(own) {
		if from.Unavailable != "" {
			found.unread = append(found.unread, fmt.Sprintf("catalog %s cannot be read: %s", from.NamespacedName, from.Unavailable))
			continue
		}
		if err := s.offerFrom(from, r, found); err != nil {
			return nil, err
		}
	}
	s.offered[key] = found
	return found, nil
}

// offerClosed adds installed bundles and options of Subscriptions.
func (s *state) offerClosed(r *property.Requirement, into *offered) error {
	for _, pkg := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[pkg]
		if !g.closed || r.Within != nil && r.Within.Package != pkg {
			continue
		}
		for _, one := range g.members() {
			ok, err := r.Meets(one.is)
			if err != nil {
				return err
			}
			if ok {
				into.providers = append(into.providers, one)
			}
		}
	}
	return nil
}

// shelf is a channel of a package in a catalog.
type shelf struct {
	*offer
	channel string
}

// offerFrom adds the bundles of a catalog: default channels first, then by package and channel, and in a channel from the head down.
func (s *state) offerFrom(from *catalog, r *property.Requirement, into *offered) error {
	shelves := s.shelves(from, r, into)
	seen := map[Choice]bool{}
	for _, one := range shelves {
		g, err := one.graph(one.channel)
		if err != nil {
			if s.wouldMeet(one, r) {
				into.leftOut = append(into.leftOut, fmt.Sprintf("package %s: %s", one.Name, err))
			}
			continue
		}
		for _, e := range g.chain {
			key := Choice{Package: one.Name, Name: e.Name}
			if seen[key] {
				continue
			}
			seen[key] = true
			if err := s.offerBundle(one, e.Name, r, into); err != nil {
				return err
			}
		}
	}
	return nil
}

// wouldMeet reports whether a broken channel has a bundle that meets a requirement.
func (s *state) wouldMeet(at shelf, r *property.Requirement) bool {
	return slices.ContainsFunc(at.Channels, func(c Channel) bool {
		return c.Name == at.channel && slices.ContainsFunc(c.Entries, func(e Entry) bool {
			met, err := r.Meets(at.bundle(e.Name, s.rules).Content)
			return met && err == nil
		})
	})
}

func (s *state) offerBundle(at shelf, name string, r *property.Requirement, into *offered) error {
	bundle := at.bundle(name, s.rules)
	ok, err := r.Meets(bundle.Content)
	if err != nil || !ok {
		return err
	}
	if bundle.problem != "" {
		into.leftOut = append(into.leftOut, bundle.problem)
		return nil
	}
	into.providers = append(into.providers, s.open(at, bundle.Content))
	return nil
}

// open returns the candidate for a bundle of a package that is not closed. The channel is the first one that contains the bundle.
func (s *state) open(at shelf, is *property.Content) *candidate {
	g := s.group(at.Name)
	key := Choice{Catalog: at.from.NamespacedName, Name: is.Name}
	if known := g.others[key]; known != nil {
		return known
	}
	made := s.newCandidate(at.offer, at.channel, is)
	g.others[key] = made
	return made
}

// shelves returns the channels in which bundles for a requirement may be, in the order of preference.
func (s *state) shelves(from *catalog, r *property.Requirement, into *offered) []shelf {
	packages := map[string]bool{}
	for _, one := range r.Lookups {
		found, err := from.find(one)
		if err != nil {
			into.unread = append(into.unread, oneLine(err))
			continue
		}
		for _, name := range found {
			packages[name] = true
		}
	}
	var all []shelf
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if g := s.groups[name]; g != nil && g.closed {
			continue
		}
		found, err := from.offer(name)
		if err != nil {
			into.unread = append(into.unread, oneLine(err))
			continue
		}
		if found == nil {
			continue
		}
		for _, channel := range found.channels() {
			all = append(all, shelf{found, channel})
		}
	}
	slices.SortStableFunc(all, func(a, b shelf) int {
		return cmp.Or(
			-compareBools(a.channel == a.DefaultChannel, b.channel == b.DefaultChannel),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.channel, b.channel),
		)
	})
	return all
}
