package finding_test

import (
	"testing"

	"github.com/operon-framework/operon/internal/prove/finding"
)

// What an operator declines without faults excuses the same differences with faults in the same step, if it declines the change then, too.
func TestExcuses(t *testing.T) {
	t.Parallel()
	data := finding.Difference{Of: "ConfigMap/a", Path: "data.engine", Want: "b", Got: "a"}
	note := finding.Finding{
		Property: finding.SameFresh, Level: finding.Note, Step: "engine", Message: "data differ", Because: "it says so", Diff: []finding.Difference{data},
	}
	for name, c := range map[string]struct {
		change func(*finding.Finding)
		want   bool
	}{
		"the same":            {func(*finding.Finding) {}, true},
		"a silent operator":   {func(f *finding.Finding) { f.Declined = "" }, false},
		"another step":        {func(f *finding.Finding) { f.Step = "size" }, false},
		"another message":     {func(f *finding.Finding) { f.Message = "labels differ" }, false},
		"another property":    {func(f *finding.Finding) { f.Property = finding.Bounded }, false},
		"one difference more": {func(f *finding.Finding) { f.Diff = append(f.Diff, finding.Difference{Of: "Service/a"}) }, false},
		"another value":       {func(f *finding.Finding) { f.Diff[0].Got = "c" }, true},
		"fewer differences":   {func(f *finding.Finding) { f.Diff = nil }, true},
	} {
		failure := finding.Finding{
			Property: finding.SameFresh, Step: "engine", Message: "data differ", Declined: "it does not become ready", Diff: []finding.Difference{data},
		}
		c.change(&failure)
		if got := note.Excuses(&failure); got != c.want {
			t.Errorf("%s: excused is %v", name, got)
		}
	}
	said := finding.Finding{Property: finding.SameFresh, Step: "engine", Message: "data differ", Declined: "it says so"}
	if unsaid := (finding.Finding{Property: finding.SameFresh, Step: "engine", Message: "data differ"}); unsaid.Excuses(&said) {
		t.Error("a failure excuses another one")
	}
}
