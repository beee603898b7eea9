package doctor

import (
	"bytes"
	"testing"
)

// TestExamples: the rules find nothing in the examples from which users start.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"memcached", "podrequest", "site", "store", "vmgroup"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := Examine(t.Context(), "../../../examples/"+name, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Findings) > 0 {
				var out bytes.Buffer
				_ = report.Text(&out, Look{})
				t.Errorf("%s", &out)
			}
		})
	}
}
