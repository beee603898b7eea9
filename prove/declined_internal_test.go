package prove

import (
	"testing"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/testplan"
)

// A change that the operator declines without faults is a note, and the same finding with faults is counted with it. In another step, or
// without faults, it is a failure: the operator said nothing.
func TestDeclinedWithFaults(t *testing.T) {
	t.Parallel()
	note := finding.Finding{
		Property: finding.SameFresh, Level: finding.Note, Step: "engine", Message: "data differ", Because: "it says so", Plan: &testplan.Plan{},
	}
	s := &session{found: map[string]*finding.Finding{note.Key(): &note}}
	failure := func(step string, faults ...fault.Fault) finding.Finding {
		return finding.Finding{Property: finding.SameFresh, Step: step, Message: "data differ", Plan: &testplan.Plan{Faults: faults}}
	}
	kill := fault.Fault{Kind: fault.Kill}
	for name, one := range map[string]finding.Finding{"in another step": failure("size", kill), "without faults": failure("engine")} {
		if s.known(one) || !s.fails(&one) {
			t.Errorf("%s, a failure counts as declined", name)
		}
	}
	if one := failure("engine", kill); !s.known(one) || s.fails(&one) || note.Also != 1 {
		t.Errorf("with a fault, what is declined without one is a failure; the note counts %d others", note.Also)
	}
}
