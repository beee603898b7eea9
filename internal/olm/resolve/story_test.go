package resolve_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/olm/resolve"
)

// story is the input of a scenario. Bundles are called <package>.v<version>, kinds are of the group example.com and the version v1, and
// catalogs are in the namespace olm unless it is given.
type story struct {
	Why           string                   `json:"why"`
	Namespace     string                   `json:"namespace"`
	Subscriptions []subscriptionStory      `json:"subscriptions"`
	Installed     map[string]installedText `json:"installed"`
	Catalogs      map[string]catalogStory  `json:"catalogs"`
}

type subscriptionStory struct {
	Name     string `json:"name"`
	Package  string `json:"package"`
	Channel  string `json:"channel"`
	Catalog  string `json:"catalog"`
	Starting string `json:"starting"`
	// Avoid are versions with the reasons.
	Avoid     map[string]string `json:"avoid"`
	Installed string            `json:"installed"`
}

type installedText struct {
	Package      string `json:"package"`
	Subscription string `json:"subscription"`
	Version      string `json:"version"`
	bundleStory
}

type catalogStory struct {
	Namespace   string                  `json:"namespace"`
	Priority    int                     `json:"priority"`
	Unavailable string                  `json:"unavailable"`
	Packages    map[string]packageStory `json:"packages"`
	Unreadable  []string                `json:"unreadable"` // packages
}

type packageStory struct {
	Default string `json:"default"`
	// Channels have entries such as "2.0.0 replaces 1.0.0 skips 1.1.0,1.2.0 range >=1.0.0 <2.0.0".
	Channels     map[string][]string    `json:"channels"`
	Bundles      map[string]bundleStory `json:"bundles"` // by version
	Missing      []string               `json:"missing"` // versions without a bundle
	Deprecations map[string]string      `json:"deprecations"`
}

type bundleStory struct {
	Provides   []string           `json:"provides"`
	Needs      []json.RawMessage  `json:"needs"` // "package a >=1.0.0", "kind A", "label a", or a constraint
	Labels     []string           `json:"labels"`
	Deprecated bool               `json:"deprecated"`
	Properties []propertyOfBundle `json:"properties"`
	Invalid    string             `json:"invalid"` // a version that is not one
}

type propertyOfBundle struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

func readStory(t testing.TB, given string) resolve.Problem {
	t.Helper()
	var s story
	if err := yaml.UnmarshalStrict([]byte(given), &s); err != nil {
		t.Fatal(err)
	}
	if s.Why == "" {
		t.Fatal("the scenario does not say why")
	}
	p := resolve.Problem{Namespace: s.Namespace}
	for _, one := range s.Subscriptions {
		p.Subscriptions = append(p.Subscriptions, one.subscription())
	}
	for name, one := range s.Installed {
		p.Installed = append(p.Installed, one.installed(t, name))
	}
	for name, one := range s.Catalogs {
		p.Catalogs = append(p.Catalogs, one.catalog(t, name))
	}
	return p
}

func or(text, usual string) string {
	if text == "" {
		return usual
	}
	return text
}

func (s subscriptionStory) subscription() resolve.Subscription {
	namespace, name, ok := strings.Cut(or(s.Catalog, "olm/shop"), "/")
	if !ok {
		namespace, name = "olm", namespace
	}
	avoid := map[string]string{}
	for version, why := range s.Avoid {
		avoid[fullName(s.Package, version)] = why
	}
	return resolve.Subscription{
		Avoid: avoid,
		Name:  or(s.Name, s.Package), Package: s.Package, Channel: s.Channel, Catalog: types.NamespacedName{Namespace: namespace, Name: name},
		StartingCSV: fullName(s.Package, s.Starting), InstalledCSV: fullName(s.Package, s.Installed),
	}
}

// fullName returns till.v1.0.0 for the version 1.0.0 of till. Names stay.
func fullName(pkg, version string) string {
	if version == "" || version[0] < '0' || version[0] > '9' {
		return version
	}
	return pkg + ".v" + version
}

func (i installedText) installed(t testing.TB, name string) resolve.Installed {
	pkg, version, _ := strings.Cut(name, ".v")
	return resolve.Installed{Bundle: i.bundle(t, name, or(i.Version, version), pkg), Package: or(i.Package, pkg), Subscription: i.Subscription}
}

func (c catalogStory) catalog(t testing.TB, name string) resolve.Catalog {
	var all resolve.Packages
	for pkg, one := range c.Packages {
		all = append(all, one.pkg(t, pkg))
	}
	made := resolve.Catalog{NamespacedName: types.NamespacedName{Namespace: or(c.Namespace, "olm"), Name: name}, Priority: c.Priority, Unavailable: c.Unavailable}
	if c.Unavailable == "" {
		made.Source = partly{all, c.Unreadable}
	}
	return made
}

// partly is a Source in which some packages cannot be read.
type partly struct {
	resolve.Packages
	unreadable []string
}

func (p partly) Package(name string) (*resolve.Package, error) {
	if slices.Contains(p.unreadable, name) {
		return nil, fmt.Errorf("the checksum is wrong")
	}
	return p.Packages.Package(name)
}

func (p packageStory) pkg(t testing.TB, name string) resolve.Package {
	made := resolve.Package{Name: name, DefaultChannel: or(p.Default, "stable")}
	for channel, entries := range p.Channels {
		c := resolve.Channel{Name: channel}
		for _, text := range entries {
			entry, version := entryOf(name, text)
			c.Entries = append(c.Entries, entry)
			known := slices.ContainsFunc(made.Bundles, func(b resolve.Bundle) bool { return b.Name == entry.Name })
			if !known && !slices.Contains(p.Missing, version) {
				made.Bundles = append(made.Bundles, p.Bundles[version].bundle(t, entry.Name, or(p.Bundles[version].Invalid, version), name))
			}
		}
		made.Channels = append(made.Channels, c)
	}
	for key, message := range p.Deprecations {
		schema, of, _ := strings.Cut(key, " ")
		made.Deprecations = append(made.Deprecations, resolve.Deprecation{Schema: "olm." + schema, Name: of, Message: message})
	}
	return made
}

func entryOf(pkg, text string) (resolve.Entry, string) {
	text, within, _ := strings.Cut(text, " range ")
	words := strings.Fields(text)
	e := resolve.Entry{SkipRange: within}
	if len(words) == 0 {
		return e, ""
	}
	e.Name = fullName(pkg, words[0])
	for i := 1; i+1 < len(words); i += 2 {
		for _, version := range strings.Split(words[i+1], ",") {
			if words[i] == "replaces" {
				e.Replaces = fullName(pkg, version)
			} else {
				e.Skips = append(e.Skips, fullName(pkg, version))
			}
		}
	}
	return e, words[0]
}

func property(kind string, value any) resolve.Property {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return resolve.Property{Type: kind, Value: raw}
}

func kindOf(kind string) map[string]string {
	return map[string]string{"group": "example.com", "version": "v1", "kind": kind}
}

func (b bundleStory) bundle(t testing.TB, name, version, pkg string) resolve.Bundle {
	t.Helper()
	made := resolve.Bundle{Name: name}
	if version != "" {
		made.Properties = append(made.Properties, property("olm.package", map[string]string{"packageName": pkg, "version": version}))
	}
	for _, kind := range b.Provides {
		made.Properties = append(made.Properties, property("olm.gvk", kindOf(kind)))
	}
	for _, label := range b.Labels {
		made.Properties = append(made.Properties, property("olm.label", map[string]string{"label": label}))
	}
	if b.Deprecated {
		made.Properties = append(made.Properties, property("olm.deprecated", map[string]string{}))
	}
	for _, one := range b.Needs {
		made.Properties = append(made.Properties, needOf(t, one))
	}
	for _, one := range b.Properties {
		made.Properties = append(made.Properties, resolve.Property(one))
	}
	return made
}

func needOf(t testing.TB, raw json.RawMessage) resolve.Property {
	t.Helper()
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return resolve.Property{Type: "olm.constraint", Value: raw}
	}
	words := strings.SplitN(text, " ", 3)
	switch words[0] {
	case "package":
		return property("olm.package.required", map[string]string{"packageName": words[1], "versionRange": words[2]})
	case "kind":
		return property("olm.gvk.required", kindOf(words[1]))
	case "label":
		return property("olm.label.required", map[string]string{"label": words[1]})
	}
	t.Fatalf("unknown dependency %q", text)
	return resolve.Property{}
}

// show prints a result.
func show(r resolve.Result) string {
	var out strings.Builder
	for _, o := range r.Subscriptions {
		fmt.Fprintf(&out, "%s: %s %s", o.Subscription, o.Action, o.Reason)
		if o.Bundle.Name != "" {
			fmt.Fprintf(&out, " %s from %s, channel %s", o.Bundle.Name, o.Bundle.Catalog, o.Bundle.Channel)
		}
		if o.Adopted {
			fmt.Fprintf(&out, ", adopts %s", o.Installed)
		}
		fmt.Fprintf(&out, "\n  %s\n", o.Message)
		if o.Held != "" {
			fmt.Fprintf(&out, "  held: %s\n", o.Held)
		}
		for _, one := range o.Warnings {
			fmt.Fprintf(&out, "  warning: %s\n", one)
		}
	}
	for _, a := range r.Additions {
		fmt.Fprintf(&out, "+ %s from %s, channel %s\n  %s\n", a.Bundle.Name, a.Bundle.Catalog, a.Bundle.Channel, a.Message)
		for _, one := range a.Warnings {
			fmt.Fprintf(&out, "  warning: %s\n", one)
		}
	}
	for _, one := range r.Unmet {
		fmt.Fprintf(&out, "unmet: %s\n", one)
	}
	return out.String()
}

// reversed returns the same problem with all lists in the opposite order.
func reversed(p resolve.Problem) resolve.Problem {
	p.Subscriptions, p.Installed, p.Catalogs = slices.Clone(p.Subscriptions), slices.Clone(p.Installed), slices.Clone(p.Catalogs)
	slices.Reverse(p.Subscriptions)
	slices.Reverse(p.Catalogs)
	slices.Reverse(p.Installed)
	for i := range p.Installed {
		p.Installed[i].Properties = backwards(p.Installed[i].Properties)
	}
	for i := range p.Catalogs {
		source, ok := p.Catalogs[i].Source.(partly)
		if !ok {
			continue
		}
		source.Packages = backwards(source.Packages)
		for i := range source.Packages {
			source.Packages[i] = backward(source.Packages[i])
		}
		p.Catalogs[i].Source = source
	}
	return p
}

func backward(p resolve.Package) resolve.Package {
	p.Channels, p.Bundles, p.Deprecations = backwards(p.Channels), backwards(p.Bundles), backwards(p.Deprecations)
	for i := range p.Channels {
		p.Channels[i].Entries = backwards(p.Channels[i].Entries)
		for j := range p.Channels[i].Entries {
			p.Channels[i].Entries[j].Skips = backwards(p.Channels[i].Entries[j].Skips)
		}
	}
	for i := range p.Bundles {
		p.Bundles[i].Properties = backwards(p.Bundles[i].Properties)
	}
	return p
}

func backwards[S ~[]E, E any](list S) S {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}
