package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/doctor/code"
	"github.com/operon-framework/operon/internal/tools/doctor/manifest"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Finding is one place where a rule is broken.
type Finding = rule.Finding

// Rules returns all rules: manifests first, then code, then the comments that ignore others.
func Rules() []*rule.Rule {
	return slices.Concat(manifest.Rules, code.Rules, []*rule.Rule{ignoreComment, ignoreUnused})
}

// Options choose what is looked at.
type Options struct {
	// Only are the rules that are asked, by default all. Skip are those that are not.
	Only, Skip []string
	// Against is a file or directory of older CustomResourceDefinitions, or a revision of git, that those of
	// the project are to be safe upgrades of. "" asks nothing.
	Against string
	// Main is the directory of the main package, where the project has several.
	Main string
}

// Report is what was found.
type Report struct {
	// Findings are in order of files and lines.
	Findings []Finding `json:"findings"`
	// Ignored is how many there were that comments ignore.
	Ignored int `json:"ignored"`
	// Rules is how many rules were asked.
	Rules int `json:"rules"`

	dir string
}

// Failed reports whether a finding is an error.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == rule.Error })
}

// Check reports whether the rules that are named exist.
func (o Options) Check() error {
	known := map[string]bool{}
	for _, r := range Rules() {
		known[r.Name] = true
	}
	var problems []error
	for _, name := range slices.Concat(o.Only, o.Skip) {
		if !known[name] {
			problems = append(problems, fmt.Errorf("unknown rule %q%s; `operon lint --rules` lists them", name, near(name)))
		}
	}
	return errors.Join(problems...)
}

// near names a rule that may be meant.
func near(name string) string {
	for _, r := range Rules() {
		if strings.HasPrefix(r.Name, name) || strings.Contains(r.Name, name) && len(name) > 2 {
			return fmt.Sprintf(" (did you mean %s?)", r.Name)
		}
	}
	return ""
}

// asks reports whether a rule is asked.
func (o Options) asks(r *rule.Rule) bool {
	return (len(o.Only) == 0 || slices.Contains(o.Only, r.Name)) && !slices.Contains(o.Skip, r.Name)
}

// Examine reads the project in dir and asks the rules. It fails where that is no project, where its
// manifests cannot be read, and where its code does not compile.
func Examine(ctx context.Context, dir string, options Options) (*Report, error) {
	if err := options.Check(); err != nil {
		return nil, err
	}
	p, err := project.Read(dir, project.Options{Main: options.Main})
	if err != nil {
		return nil, err
	}
	loaded, err := rule.Load(ctx, p.Dir, "./...")
	if err != nil {
		return nil, err
	}
	s, err := rule.New(p.Dir, p.Module.Framework, rule.Manifests{CRDs: p.CRDs, Samples: p.Samples, Grants: p.Grants}, rule.Index(p.Dir, loaded))
	if err != nil {
		return nil, err
	}
	if options.Against != "" {
		if s.Against, err = olderDefinitions(ctx, p.Dir, options.Against); err != nil {
			return nil, err
		}
	}
	return examine(s, options)
}

// examine asks the rules, and leaves out what comments ignore.
func examine(s *rule.Subject, options Options) (*Report, error) {
	report := &Report{dir: s.Dir, Findings: []Finding{}}
	var found []Finding
	for _, r := range Rules() {
		if options.asks(r) {
			report.Rules++
			found = append(found, r.Run(s)...)
		}
	}
	comments, err := readIgnores(s)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if comments.ignore(&f) {
			report.Ignored++
			continue
		}
		report.Findings = append(report.Findings, f)
	}
	report.Findings = append(report.Findings, comments.findings(options)...)
	slices.SortStableFunc(report.Findings, func(a, b Finding) int { return a.Place.Compare(b.Place) })
	return report, nil
}
