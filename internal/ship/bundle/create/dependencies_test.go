package create_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/ship/bundle/create"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// Dependencies on packages are added to those of the earlier bundle, one for each package.
func TestRequires(t *testing.T) {
	t.Parallel()
	out, next := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "next")
	o := cached(out)
	o.Requires = []string{"cert-manager=>=1.12.0 <2.0.0", "queue=3.1.0"}
	dependencies := func(o create.Options) []string {
		t.Helper()
		if _, err := create.Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		b, err := bundle.Read(o.Out)
		if err != nil || len(b.Problems) > 0 {
			t.Fatal(err, b.Problems)
		}
		var all []string
		for _, one := range b.Dependencies {
			all = append(all, fmt.Sprint(one.Type, " ", one.Value["packageName"], " ", one.Value["version"], one.Value["kind"]))
		}
		return all
	}
	if got, want := dependencies(o), []string{"olm.package cert-manager >=1.12.0 <2.0.0<nil>", "olm.package queue 3.1.0<nil>"}; !slices.Equal(got, want) {
		t.Errorf("the dependencies are %q", got)
	}
	file := filepath.Join(out, "metadata/dependencies.yaml")
	testaid.Write(t, file, testaid.Read(t, file)+"- {type: olm.gvk, value: {group: a.example.com, version: v1, kind: A}}\n")
	o = cached(next)
	o.Version, o.Previous, o.Requires = "1.3.0", out, []string{"queue=>=4.0.0"}
	if got, want := dependencies(o), []string{"olm.package cert-manager >=1.12.0 <2.0.0<nil>", "olm.package queue >=4.0.0<nil>", "olm.gvk <nil> v1A"}; !slices.Equal(got, want) {
		t.Errorf("the dependencies of the next version are %q", got)
	}
	for _, wrong := range []string{"queue", "queue=", "=1.0.0", "a b=1.0.0", "queue=newest"} {
		o.Requires = []string{wrong}
		if _, err := create.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("--requires %q: want PACKAGE=RANGE", wrong)) {
			t.Errorf("the error of %s is %v", wrong, err)
		}
	}
	testaid.Write(t, filepath.Join(next, "metadata/dependencies.yaml"), "dependencies: {}\n")
	o.Requires = []string{"queue=1.0.0"}
	if _, err := create.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "metadata/dependencies.yaml: dependencies is not a list") {
		t.Errorf("the error is %v", err)
	}
}
