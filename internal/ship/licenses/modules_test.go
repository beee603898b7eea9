package licenses_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/licenses"
)

// allowed lists the licenses that dependencies may have. MPL-2.0 is copyleft only for its own files, which are unchanged
// here.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

func TestDependenciesHaveLicensesThatAreAllowed(t *testing.T) {
	t.Parallel()
	for _, module := range []string{".", "cluster", "bench", "examples/postgres"} {
		linked := dependencies(t, "../../../"+module)
		files, err := licenses.Collect(linked)
		if err != nil {
			t.Fatal(err)
		}
		declared := licenses.Declared(linked, files)
		if len(declared) < 50 {
			t.Errorf("only %d modules are linked into %s", len(declared), module)
		}
		for path, expression := range declared {
			for _, id := range strings.Split(expression, " AND ") {
				if !slices.Contains(allowed, id) && !strings.HasPrefix(path, "github.com/operon-framework/operon/") {
					t.Errorf("%s: %s has the license %q, which is not one of %q", module, path, expression, allowed)
				}
			}
		}
	}
}

// dependencies returns the packages that the programs and tests of a module link.
func dependencies(t *testing.T, dir string) []licenses.Linked {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "-f", "{{with .Module}}{{.Path}} {{$.ImportPath}} {{$.Dir}}{{end}}", "./...")
	command.Dir = dir
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var linked []licenses.Linked
	for line := range strings.Lines(string(output)) {
		if fields := strings.Fields(line); len(fields) == 3 { // lines with more fields are variants of packages for tests
			linked = append(linked, licenses.Linked{Module: fields[0], Package: fields[1], Dir: fields[2]})
		}
	}
	return linked
}
