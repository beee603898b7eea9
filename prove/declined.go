package prove

import (
	"context"
	"slices"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/oracle"
	"github.com/operon-framework/operon/internal/prove/testplan"
)

// withDeclined makes failures of a plan with faults notes if the operator visibly declines the change, with the faults and without them. The
// plan is run once without faults to find out.
func (s *session) withDeclined(ctx context.Context, refs oracle.References, p testplan.Plan, findings []finding.Finding) error {
	for i := range findings {
		f := &findings[i]
		if f.Declined == "" {
			continue
		}
		notes, err := s.declined(ctx, refs, p, f.Step)
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(notes, func(note finding.Finding) bool { return note.Excuses(f) }); at >= 0 {
			f.Level, f.Because = finding.Note, notes[at].Because
		}
	}
	return nil
}

// declined returns the notes about what an operator declines in a step of a workload without faults.
func (s *session) declined(ctx context.Context, refs oracle.References, p testplan.Plan, step string) ([]finding.Finding, error) {
	in := func(name string) declining { return declining{workload: p.Workload.Name, step: name} }
	s.mu.Lock()
	notes, known := s.declines[in(step)]
	s.mu.Unlock()
	if known {
		return notes, nil
	}
	p.Faults = nil
	seen, err := s.stage.Carry(ctx, p, s.paced(refs, s.patient()))
	if err != nil {
		return nil, err
	}
	all := oracle.Declined(refs, p, *seen)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range p.Workload.Steps {
		s.declines[in(one.Name)] = slices.DeleteFunc(slices.Clone(all), func(f finding.Finding) bool { return f.Step != one.Name })
	}
	return s.declines[in(step)], nil
}

// declining is a step of a workload.
type declining struct{ workload, step string }
