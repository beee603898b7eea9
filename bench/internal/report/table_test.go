package report_test

import (
	"testing"

	"github.com/operon-framework/operon/bench/internal/report"
)

func TestRatiosAreOfMedians(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		figure report.Figure
		want   report.Verdict
	}{
		{"at most, met", report.AtMost("x", []int64{4, 90, 3}, []int64{10, 8, 7}, report.Megabytes, 0.5), report.Met},
		{"at most, missed", report.AtMost("x", []int64{5}, []int64{8}, report.Megabytes, 0.5), report.Missed},
		{"at most, not judged", report.AtMost("x", []int64{5}, []int64{8}, report.Megabytes, 0), report.None},
		{"at least, met", report.AtLeast("x", []int64{3}, []int64{2}, report.Count, 1.5), report.Met},
		{"at least, missed", report.AtLeast("x", []int64{2}, []int64{2}, report.Count, 1.5), report.Missed},
		{"none, met", report.NoneOf("x", 0, 7), report.Met},
		{"none, missed", report.NoneOf("x", 1, 7), report.Missed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.figure.Met != test.want {
				t.Errorf("met is %s, want %s: %+v", test.figure.Met, test.want, test.figure)
			}
		})
	}
}
