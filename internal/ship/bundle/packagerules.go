package bundle

import (
	"errors"
	"slices"

	"github.com/operon-framework/operon/internal/tools/doctor/manifest"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var packageRule = &rule.Rule{
	Name: "package-channels", Severity: rule.Error,
	About:  "A package whose channels do not lead from each version to the newest one.",
	Reason: "Installed operators stop at a version, or the package is missing from its catalog.",
	Fix:    "name an existing CSV in currentCSV and in replaces, without a cycle, and remove versions that nothing leads to",
}

// check checks the channels of a package.
func (p *Package) check(found *rule.Findings) {
	for _, problem := range p.Problems {
		found.Add(problem.At, "%s", problem.Message)
	}
	reached, named := map[*Bundle]bool{}, false
	for i, channel := range p.Channels {
		named = named || channel.Name == p.DefaultChannel
		if slices.ContainsFunc(p.Channels[:i], func(c Channel) bool { return c.Name == channel.Name }) {
			found.Add(channel.at, "channel %s is listed twice", channel.Name)
		}
		chain := p.Chain(channel)
		for _, b := range chain {
			reached[b] = true
		}
		p.checkChain(channel, chain, found)
	}
	if p.DefaultChannel == "" && len(p.Channels) > 1 || p.DefaultChannel != "" && !named {
		found.Add(p.place(), "defaultChannel: want one of the channels of package %s, got %q", p.Name, p.DefaultChannel)
	}
	for _, b := range p.Bundles {
		if b.CSV != nil && !reached[b] && !p.skipped(b.CSV.Name) {
			found.Add(b.at("metadata.name"), "no channel of package %s leads to %s", p.Name, b.CSV.Name).Severity = rule.Warning
		}
	}
}

// checkNames checks the names of the channels.
func (p *Package) checkNames(found *rule.Findings) {
	for _, channel := range p.Channels {
		checkChannel(channel.Name, channel.at, found)
	}
}

func (p *Package) place() rule.Place {
	if len(p.Channels) > 0 {
		return rule.Place{File: p.Channels[0].at.File, Line: 1, Column: 1}
	}
	return rule.Place{File: p.Dir, Line: 1, Column: 1}
}

func (p *Package) checkChain(channel Channel, chain []*Bundle, found *rule.Findings) {
	if len(chain) == 0 {
		found.Add(channel.at, "channel %s: there is no CSV %s", channel.Name, channel.Head)
		return
	}
	last := chain[len(chain)-1]
	older := last.CSV.Spec.Replaces
	switch next := p.Bundle(older); {
	case older == "":
	case next == nil:
		found.Add(last.at("spec.replaces"), "channel %s: %s replaces %s, which is not in the package", channel.Name, last.CSV.Name, older).Severity = rule.Warning
	default:
		found.Add(last.at("spec.replaces"), "channel %s: %s replaces %s, which is a newer version of it in the same channel", channel.Name, last.CSV.Name, older)
	}
}

// skipped reports whether a version of the package skips another.
func (p *Package) skipped(name string) bool {
	return slices.ContainsFunc(p.Bundles, func(b *Bundle) bool { return b.CSV != nil && slices.Contains(b.CSV.Spec.Skips, name) })
}

var upgradeRule = &rule.Rule{
	Name: "upgrade-unsafe", Severity: rule.Error,
	About:  "A version that changes a CRD in a way that breaks objects of the version that it replaces, or that drops a CRD.",
	Reason: "The upgrade is refused, or users cannot change their objects any more.",
	Fix:    "add a new API version with a conversion, and keep the old one served",
}

// checkUpgrade compares the definitions of a bundle with the definitions of the previous version.
func checkUpgrade(older, newer *Bundle, found *rule.Findings) {
	for _, before := range older.CRDs {
		after := newer.definition(before.GetName())
		if after == nil {
			if newer.Object != nil {
				found.Add(newer.at("spec.customresourcedefinitions"), "CustomResourceDefinition %s of %s is missing", before.GetName(), older.Name()).Severity = rule.Warning
			}
			continue
		}
		old, err := before.definition()
		changed, other := after.definition()
		if err = errors.Join(err, other); err != nil {
			found.Add(rule.At(after.Object, ""), "%v", err)
			continue
		}
		if old == nil || changed == nil {
			continue // reported as unreadable
		}
		manifest.Upgrade(old, &rule.Definition{Object: after.Object, Typed: changed}, found)
	}
}
