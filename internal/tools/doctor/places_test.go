package doctor

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPermissionsAreAtTheirMarkers: a finding is at the marker that grants the offending part of a rule that controller-gen merged from
// several markers.
func TestPermissionsAreAtTheirMarkers(t *testing.T) {
	t.Parallel()
	const folder = "testdata/places/markers"
	report, err := examine(subject(t, folder), Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := slices.DeleteFunc(report.Findings, func(f Finding) bool { return !strings.HasPrefix(f.Rule, "rbac-") })
	golden(t, filepath.Join(filepath.FromSlash(folder), "find.txt"), told(found))
}

// TestDefinitionsAreIgnoredInGo: comments at Go fields and types ignore findings about the generated definition. A comment for
// crd-unsafe is not unused only because there is nothing to compare with.
func TestDefinitionsAreIgnoredInGo(t *testing.T) {
	t.Parallel()
	for against, ignored := range map[bool]int{true: 3, false: 1} {
		s := subject(t, "testdata/places/ignored/project")
		if !against {
			s.Against = nil
		}
		report, err := examine(s, Options{Only: []string{"crd-invalid", "crd-unsafe", "ignore-unused"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Findings) > 0 || report.Ignored != ignored {
			t.Errorf("with older definitions %t: %d ignored, want %d; found\n%s", against, report.Ignored, ignored, told(report.Findings))
		}
	}
}
