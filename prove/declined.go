package prove

import (
	"context"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/prove/runner"
)

// declined returns a failure as its plan shows it without faults, if the operator then declines the change: that is only a note. It returns nil
// if the operator does not.
func (s *session) declined(ctx context.Context, f finding.Finding) (*finding.Finding, *runlog.Trace) {
	if f.Property != finding.SameFresh || !f.Fails() || len(f.Plan.Faults) == 0 {
		return nil, nil
	}
	p := *f.Plan
	p.Faults = nil
	seen, findings, err := s.carry(ctx, p, runner.Pace{})
	if err != nil {
		return nil, nil // keep the finding unchanged: the next run reports the error
	}
	for _, one := range findings {
		if one.Declines(&f) {
			one.Plan = &p
			return &one, seen
		}
	}
	return nil, nil
}

// fails reports whether a finding of a plan is a failure, and not only the note that it is without faults.
func (s *session) fails(f *finding.Finding) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.Fails() && s.note(f) == nil
}

// note returns the known note that a failure with faults is without faults. It is nil if there is none. The caller holds mu.
func (s *session) note(one *finding.Finding) *finding.Finding {
	if len(one.Plan.Faults) == 0 {
		return nil
	}
	for _, known := range s.found {
		if known.Plan != nil && len(known.Plan.Faults) == 0 && known.Declines(one) {
			return known
		}
	}
	return nil
}
