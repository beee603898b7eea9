package olm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Dependency is a Subscription that was made for another one.
type Dependency struct {
	*Subscription

	// NeededBy is why it stays. Empty: nothing else needs it.
	NeededBy string
}

// annotationDependencyOf is on a Subscription that the manager made, with the name of the Subscription that needs it.
const annotationDependencyOf = "olm.dependency-of"

// Dependencies returns the Subscriptions that the manager made for a Subscription, and for those, with the operators that still need them.
func (s *State) Dependencies(of *Subscription) []Dependency {
	var all []Dependency
	made := map[string]bool{of.Name: true}
	for changed := true; changed; {
		changed = false
		for i := range s.Subscriptions {
			one := &s.Subscriptions[i]
			if one.Namespace == of.Namespace && !made[one.Name] && made[one.Annotations[annotationDependencyOf]] {
				all, made[one.Name], changed = append(all, Dependency{Subscription: one}), true, true
			}
		}
	}
	for changed := true; changed; { // one that stays may need others
		changed = false
		for i := range all {
			if all[i].NeededBy == "" {
				all[i].NeededBy = s.neededBy(all[i].Subscription, of, all)
				changed = changed || all[i].NeededBy != ""
			}
		}
	}
	return all
}

// neededBy returns the version that needs what a Subscription installed, apart from those that are removed with it.
func (s *State) neededBy(dependency, removed *Subscription, others []Dependency) string {
	provider := s.Installed(dependency)
	for i := range s.Versions {
		one := &s.Versions[i]
		if one.Namespace != dependency.Namespace || provider != nil && one.Name == provider.Name {
			continue
		}
		by := s.SubscriptionOf(one)
		gone := by != nil && (by.Name == removed.Name || slices.ContainsFunc(others, func(d Dependency) bool { return d.NeededBy == "" && d.Name == by.Name }))
		if !gone && one.needs(dependency.Spec.Name, provider) {
			return one.Name
		}
	}
	return ""
}

// Installed returns the version that a Subscription installed, or nil.
func (s *State) Installed(of *Subscription) *Version {
	if found := s.version(of.Namespace, of.Status.InstalledCSV); found != nil {
		return found
	}
	return s.version(of.Namespace, of.Status.CurrentCSV)
}

// needs reports whether a version may need a package or the kinds of its version, which may be nil. A constraint that cannot be read counts.
func (v *Version) needs(name string, provider *Version) bool {
	var kinds []string
	if provider != nil {
		for _, api := range provider.Spec.Definitions.Owned {
			kinds = append(kinds, api.Kind)
			if slices.ContainsFunc(v.Spec.Definitions.Required, func(required API) bool { return required.Name == api.Name }) {
				return true
			}
		}
	}
	for _, one := range v.properties() {
		var value struct{ PackageName, Kind string }
		switch one.Type {
		case "olm.package.required", "olm.gvk.required":
			if json.Unmarshal(one.Value, &value) != nil || value.PackageName == name || slices.Contains(kinds, value.Kind) {
				return true
			}
		case "olm.constraint":
			if text := string(one.Value); strings.Contains(text, `"cel"`) || mentions(text, append(kinds, name)) {
				return true
			}
		}
	}
	return false
}

func mentions(text string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, fmt.Sprintf("%q", name)) })
}
