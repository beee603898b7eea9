package bundle

import (
	"errors"
	"slices"

	"github.com/operon-framework/operon/internal/tools/doctor"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// check is a rule about one bundle.
type check struct {
	rule.Rule
	check func(b *Bundle, found *rule.Findings)
}

// checks are the rules about one bundle, in the order of their list.
var checks = []*check{
	formatRule, annotationsRule, channelsRule, dockerfileRule, sizeRule,
	nameRule, versionRule, replacesRule, installModesRule, kubeVersionRule, relatedImagesRule, listingRule, platformsRule,
	strategyRule, deploymentsRule, requestsRule, permissionsRule, missingPermissionsRule, unusedPermissionsRule, serviceAccountRule,
	ownedRule, crdRule, crdVersionRule, samplesRule, webhooksRule, apiServicesRule, generatedRule, objectsRule, convertedRule, removedAPIRule,
}

// Rules returns all rules about bundles and packages.
func Rules() []*rule.Rule {
	var all []*rule.Rule
	for _, one := range checks {
		all = append(all, &one.Rule)
	}
	return append(all, packageRule, upgradeRule)
}

// Lint checks all bundles and packages below directories. against is the directory of an older version, or empty. Each bundle has to be a
// safe upgrade of that version. It fails if a directory cannot be read, or contains no bundle.
func Lint(dirs []string, against string) (*doctor.Report, error) {
	l := &linter{}
	if against != "" {
		older, err := Read(against)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(asErrors(older.Problems)...); err != nil {
			return nil, err // a comparison with an incomplete bundle would prove nothing
		}
		l.older = older
	}
	var problems []error
	for _, dir := range dirs {
		problems = append(problems, l.lint(dir))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return doctor.NewReport("operon bundle lint", Rules(), l.findings), nil
}

type linter struct {
	older    *Bundle // nil: no version was given
	findings []rule.Finding
}

func (l *linter) lint(dir string) error {
	found, err := Find(dir)
	if err != nil {
		return err
	}
	for _, at := range found.Bundles {
		bundle, err := Read(at)
		if err != nil {
			return err
		}
		l.bundle(bundle)
	}
	for _, at := range found.Packages {
		p, err := ReadPackage(at)
		if err != nil {
			return err
		}
		l.lintPackage(p)
	}
	return nil
}

// Lint checks the rules about one bundle. Rules about the CSV are skipped if the bundle has none.
func (b *Bundle) Lint() []rule.Finding {
	var all []rule.Finding
	for _, one := range checks {
		if b.CSV != nil || slices.Contains([]*check{formatRule, annotationsRule, channelsRule, dockerfileRule}, one) {
			all = append(all, one.Collect(func(found *rule.Findings) { one.check(b, found) })...)
		}
	}
	return all
}

// Lint checks the channels of the package and the upgrades between its versions, but not the versions themselves.
func (p *Package) Lint() []rule.Finding {
	var all []rule.Finding
	for _, b := range p.Bundles {
		if b.CSV == nil {
			continue
		}
		if older := p.Bundle(b.CSV.Spec.Replaces); older != nil && older != b {
			all = append(all, lintUpgrade(older, b)...)
		}
	}
	return append(append(all, packageRule.Collect(p.check)...), channelsRule.Collect(p.checkNames)...)
}

func lintUpgrade(older, newer *Bundle) []rule.Finding {
	return upgradeRule.Collect(func(found *rule.Findings) { checkUpgrade(older, newer, found) })
}

func (l *linter) bundle(b *Bundle) {
	l.findings = append(l.findings, b.Lint()...)
	if l.older != nil {
		l.findings = append(l.findings, lintUpgrade(l.older, b)...)
	}
}

func (l *linter) lintPackage(p *Package) {
	for _, b := range p.Bundles {
		l.bundle(b)
	}
	l.findings = append(l.findings, p.Lint()...)
}
