package prove

import (
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/rbacusage"
	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// enoughPlans is the number of plans after which a permission that none of them used is considered superfluous.
const enoughPlans = 20

// judgeRights compares the permissions that the runs needed with those that were granted.
func (s *session) judgeRights() error {
	options := rbacusage.Options{Namespaces: s.namespaces, Children: s.children(), Definitions: s.CRDs}
	needed := rbacusage.Needed(s.requests, options)
	text, err := needed.YAML(s.roleName())
	if err != nil {
		return err
	}
	s.report.Rights = &report.Rights{Needed: string(text), Undeclared: s.Grants == nil}
	if s.Grants == nil {
		return nil
	}
	declared, err := rbacusage.Of(s.Grants)
	if err != nil {
		return err
	}
	missing, unused := rbacusage.Diff(needed, declared)
	for _, need := range missing {
		s.report.Rights.Missing = append(s.report.Rights.Missing, need.Permission.String())
	}
	for _, one := range unused {
		s.report.Rights.Unused = append(s.report.Rights.Unused, one.String())
	}
	s.report.Notes = append(s.report.Notes, rbacusage.Notes(needed, declared)...)
	enough := (s.report.Plans.Run >= enoughPlans || s.replays(finding.Needed)) && !s.report.Interrupted
	if enough {
		s.report.Checked = append(s.report.Checked, finding.Needed)
	}
	findings := rbacusage.Findings(needed, declared, enough)
	s.Accept.Mark(findings)
	for _, f := range findings {
		if f.Property != finding.Permitted || !s.refused() {
			f.Plan = s.unharmed()
			s.confirmed(f, nil)
		}
	}
	return nil
}

// refused reports whether a run has shown that a permission is missing. Then this has already been reported, with the run.
func (s *session) refused() bool {
	for _, f := range s.found {
		if f.Property == finding.Permitted {
			return true
		}
	}
	return false
}

// roleName returns the name of the declared Role, or a name for the operator's Role.
func (s *session) roleName() string {
	if len(s.Grants) == 1 {
		return s.Grants[0].Name
	}
	return "operator"
}

// uses records the requests of a run.
func (s *session) uses(seen *runlog.Trace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, seen.Requests...)
	s.namespaces = append(s.namespaces, seen.Namespace)
}
