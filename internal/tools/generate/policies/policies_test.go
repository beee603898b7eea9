package policies_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/operon-framework/operon/internal/tools/generate/policies"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// kept is the output of a generator, by file. It is a genall.OutputRule.
type kept map[string]*bytes.Buffer

func (k kept) Open(_ *loader.Package, path string) (io.WriteCloser, error) {
	k[path] = &bytes.Buffer{}
	return writer{k[path]}, nil
}

type writer struct{ io.Writer }

func (writer) Close() error { return nil }

// generated returns the generator's output for a package, or its errors.
func generated(t *testing.T, dir string, gates ...string) (files kept, wrong string) {
	t.Helper()
	roots, err := loader.LoadRoots("./" + dir)
	if err != nil {
		t.Fatal(err)
	}
	generator, registry := policies.Generator{Gates: gates}, &markers.Registry{}
	if err := generator.RegisterMarkers(registry); err != nil {
		t.Fatal(err)
	}
	files = kept{}
	err = generator.Generate(&genall.GenerationContext{
		Collector: &markers.Collector{Registry: registry}, Roots: roots, OutputRule: files,
		Checker: &loader.TypeChecker{NodeFilters: []loader.NodeFilter{generator.CheckFilter()}},
	})
	if err != nil {
		wrong = err.Error() + "\n"
	}
	here, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range roots[0].Errors {
		wrong += strings.ReplaceAll(problem.Pos, here+"/", "") + ": " + problem.Msg + "\n"
	}
	return files, wrong
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (-rewrite rewrites): got\n%s\nwant\n%s", golden, got, want)
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	files, wrong := generated(t, "testdata/good")
	if wrong != "" {
		t.Fatal(wrong)
	}
	compare(t, "testdata/good/policies.golden", files["policies.yaml"].String())
}

// Each invalid marker is reported at its place, and nothing is written.
func TestMarkersWithMistakes(t *testing.T) {
	t.Parallel()
	files, wrong := generated(t, "testdata/bad")
	if len(files) > 0 {
		t.Errorf("written: %v", files)
	}
	compare(t, "testdata/bad/mistakes.golden", wrong)
}

// Expressions can use a gated field only if its feature gate is enabled, as in the definition. The same applies to gated
// policies.
func TestPoliciesAndGates(t *testing.T) {
	t.Parallel()
	if files, wrong := generated(t, "testdata/gated"); wrong != "" || len(files) > 0 {
		t.Errorf("without the gate: %v, %s", files, wrong)
	}
	if files, wrong := generated(t, "testdata/asks"); len(files) > 0 || !strings.Contains(wrong, "types.go:10:") || !strings.Contains(wrong, "undefined field 'colour'") {
		t.Errorf("without the gate of the field: %v, %s", files, wrong)
	}
	for _, dir := range []string{"testdata/gated", "testdata/asks"} {
		if files, wrong := generated(t, dir, "Colours"); wrong != "" || files["policies.yaml"] == nil {
			t.Errorf("%s with the gate: %v, %s", dir, files, wrong)
		}
	}
}
