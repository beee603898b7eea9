package chart_test

import (
	"testing"

	"github.com/operon-framework/operon/internal/tools/generate/chart"
)

// FuzzMerge merges into a chart that a user edited.
func FuzzMerge(f *testing.F) {
	f.Add([]byte("files: {}\n"), []byte("a: 1\n"))
	f.Add([]byte("merged: {values.yaml: 'a: 1'}\n"), []byte("a: {b: &x 1}\nc: *x\n"))
	f.Add([]byte(""), []byte("- 1\n"))
	f.Add([]byte("{"), []byte("a: [\n"))
	now := files{"values.yaml": []byte("a: 2\nreplicas: 1\n"), "templates/a.yaml": []byte("kind: A\n"), "Chart.yaml": []byte("name: web\n")}
	f.Fuzz(func(t *testing.T, record, values []byte) {
		there := files{".generated.yaml": record, "values.yaml": values, "Chart.yaml": values}
		merged, err := chart.Merge(there, now)
		if err == nil && len(merged.Write) == 0 {
			t.Error("nothing is written")
		}
	})
}
