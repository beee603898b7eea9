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

// Finding is one place that violates a rule.
type Finding = rule.Finding

// Rules returns all rules: first for manifests, then for code, then for the comments that ignore other rules.
func Rules() []*rule.Rule {
	return slices.Concat(manifest.Rules, code.Rules, []*rule.Rule{ignoreComment, ignoreUnused})
}

// Options select the checks.
type Options struct {
	// Only lists the rules to check, by default all. Skip lists the rules not to check.
	Only, Skip []string
	// Against is a file or directory of older CustomResourceDefinitions, or a git revision. The project's definitions must be
	// safe upgrades of them. "" disables the check.
	Against string
	// Main is the directory of the main package, if the project has several.
	Main string
}

// Report holds the findings.
type Report struct {
	// Findings are sorted by file and line.
	Findings []Finding `json:"findings"`
	// Ignored is the number of findings that comments ignore.
	Ignored int `json:"ignored"`
	// Rules is the number of rules that were checked.
	Rules int `json:"rules"`

	dir string
	// tool and rules are the command and its rules for code scanning.
	tool  string
	rules []*rule.Rule
}

// NewReport returns a report about other subjects than projects: the findings of a command with its own rules.
func NewReport(tool string, rules []*rule.Rule, findings []Finding) *Report {
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.Place.Compare(b.Place) })
	return &Report{Findings: append([]Finding{}, findings...), Rules: len(rules), tool: tool, rules: rules}
}

// Failed reports whether a finding is an error.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == rule.Error })
}

// Check returns an error if a named rule does not exist.
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

// near suggests a rule with a similar name.
func near(name string) string {
	for _, r := range Rules() {
		if strings.HasPrefix(r.Name, name) || strings.Contains(r.Name, name) && len(name) > 2 {
			return fmt.Sprintf(" (did you mean %s?)", r.Name)
		}
	}
	return ""
}

// asks reports whether a rule is selected.
func (o Options) asks(r *rule.Rule) bool {
	return (len(o.Only) == 0 || slices.Contains(o.Only, r.Name)) && !slices.Contains(o.Skip, r.Name)
}

// without skips the rules that cannot find anything in a subject, so that comments for them are not reported as unused.
func (o Options) without(s *rule.Subject) Options {
	if s.Against == nil {
		o.Skip = append(slices.Clone(o.Skip), manifest.Unsafe)
	}
	return o
}

// Examine reads the project in dir and checks the rules. It fails if dir is not a project, if its manifests cannot be read,
// or if its code does not compile.
func Examine(ctx context.Context, dir string, options Options) (*Report, error) {
	if err := options.Check(); err != nil {
		return nil, err
	}
	p, err := project.Read(dir, project.Options{Main: options.Main})
	if err != nil {
		return nil, err
	}
	code, err := codeOf(ctx, p)
	if err != nil {
		return nil, err
	}
	s, err := rule.New(p.Dir, p.Module.Framework, rule.Manifests{CRDs: p.CRDs, Samples: p.Samples, Grants: p.Grants}, code)
	if err != nil {
		return nil, err
	}
	s.Others = kustomized(p.Dir, s.Others)
	if options.Against != "" {
		if s.Against, err = olderDefinitions(ctx, p.Dir, options.Against); err != nil {
			return nil, err
		}
	}
	return examine(s, options)
}

// codeOf loads the code of a project. An operator without Go has none: only rules about manifests apply to it.
func codeOf(ctx context.Context, p *project.Project) (*rule.Code, error) {
	if p.Main.Stock() {
		return rule.Index(p.Dir, nil), nil
	}
	loaded, err := rule.Load(ctx, p.Dir, "./...")
	if err != nil {
		return nil, err
	}
	return rule.Index(p.Dir, loaded), nil
}

// examine checks the rules, and leaves out findings that comments ignore.
func examine(s *rule.Subject, options Options) (*Report, error) {
	report := &Report{dir: s.Dir, Findings: []Finding{}, tool: lintTool, rules: Rules()}
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
	report.Findings = append(report.Findings, comments.findings(options.without(s))...)
	slices.SortStableFunc(report.Findings, func(a, b Finding) int { return a.Place.Compare(b.Place) })
	return report, nil
}
