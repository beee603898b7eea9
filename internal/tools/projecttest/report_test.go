package projecttest_test

import (
	"bytes"
	"testing"

	"github.com/operon-framework/operon/internal/tools/projecttest"
	"github.com/operon-framework/operon/internal/tools/projecttest/molecule"
)

func TestReportText(t *testing.T) {
	t.Parallel()
	report := &projecttest.Report{Steps: []projecttest.Step{
		{Name: "prepare", Result: projecttest.OK, Seconds: 1.23},
		{Name: "verify", Result: projecttest.Failed, Seconds: 2, Message: "no pod\nof two", Task: &molecule.Task{Name: "count", Role: "check", File: "roles/check/tasks/main.yml", Line: 7}},
		{Name: "ready", Object: "Kiosk a/b", Result: projecttest.OK, Seconds: 61},
		{Name: "deleted", Object: "Kiosk a/b", Result: projecttest.Skipped, Message: "the operator does not run"},
	}}
	want := `ok       prepare             1.2s
failed   verify              2s
    no pod
    of two (role check, task "count", roles/check/tasks/main.yml:7)
ok       ready    Kiosk a/b  1m1s
skipped  deleted  Kiosk a/b  the operator does not run
`
	var out bytes.Buffer
	if err := report.Text(&out); err != nil || out.String() != want || !report.Failed() {
		t.Errorf("got\n%s, %v", out.String(), err)
	}
}
