package check

import (
	"cmp"
	"slices"

	"github.com/operon-framework/operon/internal/tools/doctor"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// Outcome is the verdict on a bundle or a package.
type Outcome string

const (
	// Passed means that there are no errors.
	Passed Outcome = "passed"
	// Failed means that the bundle or package has mistakes.
	Failed Outcome = "failed"
	// Defect means that Operon has a defect that this bundle or package shows.
	Defect Outcome = "defect"
)

// Report is the result for all bundles.
type Report struct {
	// Bundles are sorted by directory, and Packages by name.
	Bundles  []Bundle  `json:"bundles"`
	Packages []Package `json:"packages"`
	Summary  Summary   `json:"summary"`
}

// Bundle is the result for a bundle.
type Bundle struct {
	Dir     string `json:"dir"`
	Name    string `json:"name,omitempty"`
	Package string `json:"package,omitempty"`
	Version string `json:"version,omitempty"`
	// InstallModes are the supported ones.
	InstallModes []string       `json:"installModes,omitempty"`
	Outcome      Outcome        `json:"outcome"`
	Findings     []rule.Finding `json:"findings"`
	// Omitted is the number of findings beyond the first ones.
	Omitted int `json:"omitted,omitempty"`
	// Needs are the dependencies that no bundle in the directories offers.
	Needs []string `json:"needs,omitempty"`
}

// Package is the result for a package: its channels and the upgrades between its bundles.
type Package struct {
	Name     string         `json:"name"`
	Dir      string         `json:"dir,omitempty"` // in the older layout
	Channels []Channel      `json:"channels,omitempty"`
	Outcome  Outcome        `json:"outcome"`
	Findings []rule.Finding `json:"findings"`
}

// Channel is a channel of a package.
type Channel struct {
	Name string `json:"name"`
	// Head is empty if the channel is broken.
	Head    string `json:"head,omitempty"`
	Entries int    `json:"entries"`
}

// Summary counts bundles and packages by outcome, and those with findings by rule.
type Summary struct {
	Bundles  Count `json:"bundles"`
	Packages Count `json:"packages"`
	// Errors and Warnings have the numbers of bundles and packages with findings of each rule.
	Errors   map[string]int `json:"errors"`
	Warnings map[string]int `json:"warnings"`
}

// Count counts outcomes.
type Count struct {
	All     int `json:"all"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Defects int `json:"defects"`
}

func (c *Count) add(outcome Outcome) {
	c.All++
	switch outcome {
	case Passed:
		c.Passed++
	case Failed:
		c.Failed++
	case Defect:
		c.Defects++
	}
}

// Failed reports whether a bundle or a package did not pass.
func (r *Report) Failed() bool {
	return r.Summary.Bundles.Passed < r.Summary.Bundles.All || r.Summary.Packages.Passed < r.Summary.Packages.All
}

// Findings returns all findings as the report of a lint.
func (r *Report) Findings() *doctor.Report {
	var all []rule.Finding
	for i := range r.Bundles {
		all = append(all, r.Bundles[i].Findings...)
	}
	for i := range r.Packages {
		all = append(all, r.Packages[i].Findings...)
	}
	return doctor.NewReport("operon bundle check", Rules(), all)
}

// maxFindings is the number of findings of a bundle or a package that are kept.
const maxFindings = 200

// settle sorts the findings of a bundle or a package, errors first, and returns its outcome and the first findings.
func settle(all []rule.Finding) (kept []rule.Finding, omitted int, outcome Outcome) {
	outcome = Passed
	for i := range all {
		switch {
		case isDefect(&all[i]):
			outcome = Defect
		case all[i].Severity == rule.Error && outcome == Passed:
			outcome = Failed
		}
	}
	rank := func(f *rule.Finding) int {
		if isDefect(f) {
			return -1
		}
		return slices.Index(rule.Severities, f.Severity)
	}
	slices.SortStableFunc(all, func(a, b rule.Finding) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), a.Place.Compare(b.Place), cmp.Compare(a.Message, b.Message))
	})
	if len(all) > maxFindings {
		return all[:maxFindings:maxFindings], len(all) - maxFindings, outcome
	}
	return append([]rule.Finding{}, all...), 0, outcome
}

// finish sorts the results and counts them.
func (r *Report) finish() {
	slices.SortFunc(r.Bundles, func(a, b Bundle) int { return cmp.Compare(a.Dir, b.Dir) })
	slices.SortFunc(r.Packages, func(a, b Package) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Dir, b.Dir)) })
	r.Summary = Summary{Errors: map[string]int{}, Warnings: map[string]int{}}
	for i := range r.Bundles {
		r.Summary.Bundles.add(r.Bundles[i].Outcome)
		r.Summary.count(r.Bundles[i].Findings)
	}
	for i := range r.Packages {
		r.Summary.Packages.add(r.Packages[i].Outcome)
		r.Summary.count(r.Packages[i].Findings)
	}
}

func (s *Summary) count(all []rule.Finding) {
	seen := map[string]bool{}
	for _, one := range all {
		key := string(one.Severity) + one.Rule
		if seen[key] {
			continue
		}
		seen[key] = true
		switch one.Severity {
		case rule.Error:
			s.Errors[one.Rule]++
		case rule.Warning:
			s.Warnings[one.Rule]++
		}
	}
}
